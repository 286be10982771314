//! The profile format of pprof: a message `Profile`, as `proto/profile.proto` in pprof's repository
//! defines it, compressed with gzip.
//!
//! Each stack is a sample with four values: number and time of its waits, or of its runs.

mod tables;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::load::Model;
use crate::output::protobuf::Message;
use crate::text::units;
use crate::views::flame::model::SpanSum;
use crate::views::flame::pprof::tables::Tables;
use crate::views::flame::samples::{SampledStack, Samples};

/// Fields of a `Profile`.
const SAMPLE_TYPE: u64 = 1;
const SAMPLE: u64 = 2;
const TIME_NANOS: u64 = 9;
const DURATION_NANOS: u64 = 10;
const COMMENT: u64 = 13;
const DEFAULT_SAMPLE_TYPE: u64 = 14;

/// Fields of a `ValueType`.
const TYPE: u64 = 1;
const UNIT: u64 = 2;

/// Fields of a `Sample`.
const LOCATION_ID: u64 = 1;
const VALUE: u64 = 2;
const LABEL: u64 = 3;

/// Fields of a `Label`.
const KEY: u64 = 1;
const TEXT: u64 = 2;

/// The values of each sample, and their units. The second is shown first.
const VALUES: [(&str, &str); 4] = [
    ("waits", "count"),
    ("waiting", "nanoseconds"),
    ("runs", "count"),
    ("running", "nanoseconds"),
];
const SHOWN_FIRST: &str = VALUES[1].0;

/// Writes the profile.
pub fn write(model: &Model, samples: &Samples, out: &mut dyn Write) -> io::Result<()> {
    let mut compressed = GzEncoder::new(out, Compression::default());
    compressed.write_all(profile(model, samples).bytes())?;
    compressed.finish()?;
    Ok(())
}

fn profile(model: &Model, samples: &Samples) -> Message {
    let mut tables = Tables::new(model);
    let mut profile = Message::default();
    for (name, unit) in VALUES {
        let mut value_type = Message::default();
        value_type.number(TYPE, tables.text(name));
        value_type.number(UNIT, tables.text(unit));
        profile.message(SAMPLE_TYPE, &value_type);
    }
    for (stack, sum) in &samples.0 {
        profile.message(SAMPLE, &sample(stack, sum, &mut tables));
    }
    profile.number(TIME_NANOS, model.start.started_unix_ns);
    profile.number(DURATION_NANOS, model.duration().0);
    profile.number(DEFAULT_SAMPLE_TYPE, tables.text(SHOWN_FIRST));
    if !model.has_all_events() {
        let lost = units::counted(model.lost(), "event");
        let comment = format!("approximate: not all events are in the trace ({lost} lost)");
        profile.number(COMMENT, tables.text(&comment));
    }
    tables.append_to(&mut profile);
    profile
}

/// A sample lists its locations from the innermost to the outermost.
fn sample(stack: &SampledStack, sum: &SpanSum, tables: &mut Tables<'_>) -> Message {
    let mut sample = Message::default();
    let locations = stack.frames.iter().rev();
    let locations: Vec<u64> = locations.map(|frame| tables.location(frame)).collect();
    sample.packed(LOCATION_ID, locations);
    let values = match stack.waits_for {
        Some(_) => [sum.count, sum.ns, 0, 0],
        None => [0, 0, sum.count, sum.ns],
    };
    sample.packed(VALUE, values);
    let state = stack.waits_for.map_or("running", |_| "waiting");
    let verdict = stack.open.map(|verdict| verdict.word());
    for (key, value) in [
        ("coroutine", Some(stack.coroutine.as_str())),
        ("state", Some(state)),
        ("waits_for", stack.waits_for),
        ("verdict", verdict),
    ] {
        if let Some(value) = value {
            let mut label = Message::default();
            label.number(KEY, tables.text(key));
            label.number(TEXT, tables.text(value));
            sample.message(LABEL, &label);
        }
    }
    sample
}
