//! The file format of speedscope, as its `src/lib/file-format-spec.ts` defines it: a sampled profile of
//! waits, and another of runs.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::document::flame_graph::end_of_recording;
use crate::load::Model;
use crate::views::flame::samples::{SampledFrame, SampledStack, Samples};

/// The identifier of the format. Nothing is loaded from this address.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Writes the document.
pub fn write(model: &Model, samples: &Samples, out: &mut dyn Write) -> io::Result<()> {
    let mut frames = Frames::default();
    let profiles = [
        profile("waiting (off-CPU)", samples, &mut frames, true),
        profile("running (on-CPU)", samples, &mut frames, false),
    ];
    let document = json!({
        "$schema": SCHEMA,
        "name": model.program_name(),
        "exporter": concat!("ctp-report@", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames.list },
        "profiles": profiles,
    });
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}

/// Numbers the frames of all profiles.
#[derive(Default)]
struct Frames {
    numbers: BTreeMap<SampledFrame, usize>,
    list: Vec<Value>,
}

impl Frames {
    fn number(&mut self, frame: SampledFrame) -> usize {
        if let Some(number) = self.numbers.get(&frame) {
            return *number;
        }
        let number = self.list.len();
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(frame.function));
        fields.extend(
            frame
                .file
                .iter()
                .map(|file| ("file".to_owned(), json!(file))),
        );
        fields.extend(frame.line.map(|line| ("line".to_owned(), json!(line))));
        self.list.push(Value::Object(fields));
        self.numbers.insert(frame, number);
        number
    }
}

fn profile(name: &str, samples: &Samples, frames: &mut Frames, are_waits: bool) -> Value {
    let (mut stacks, mut weights) = (Vec::new(), Vec::new());
    for (stack, sum) in &samples.0 {
        if stack.waits_for.is_some() == are_waits && 0 < sum.ns {
            let numbers = displayed(stack).map(|frame| frames.number(frame));
            stacks.push(numbers.collect::<Vec<_>>());
            weights.push(sum.ns);
        }
    }
    json!({
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": weights.iter().sum::<u64>(),
        "samples": stacks,
        "weights": weights,
    })
}

/// The frames of a stack, and on top of them the resource and the verdict.
fn displayed(stack: &SampledStack) -> impl Iterator<Item = SampledFrame> {
    let waits_for = stack.waits_for.map(|thing| format!("waits for {thing}"));
    let on_top = waits_for
        .into_iter()
        .chain(stack.open.map(end_of_recording));
    let on_top = on_top.map(|function| SampledFrame {
        function,
        ..SampledFrame::default()
    });
    // Addresses do not distinguish frames in this format.
    let frames = stack.frames.iter().cloned().map(|frame| SampledFrame {
        address: None,
        ..frame
    });
    frames.chain(on_top)
}
