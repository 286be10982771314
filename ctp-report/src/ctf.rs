//! `--export ctf`: a trace in version 2 of the Common Trace Format, for babeltrace.
//!
//! The format is that of the specification CTF2-SPEC-2.0 (<https://diamon.org/ctf/>): a folder with metadata in
//! JSON, and with streams of binary event records. It is written into a folder of a dataset, as tables are.
//!
//! - `schema` has the fields of all records. `metadata` describes them, and `encoding` encodes their values.
//! - `records` turns records of a trace into event records. `labels` has the texts that these refer to.
//! - `streams` writes event records into files, in the order of time.

mod encoding;
mod labels;
mod metadata;
mod records;
mod schema;
mod streams;

use std::io::{BufWriter, Write};

use anyhow::Result;

use crate::config::{Config, CtfView};
use crate::document::messages;
use crate::document::whole_trace::{self, WholeTrace};
use crate::output::dataset::{self, Folder};
use crate::text::units;
use crate::views::stuck;
use records::EventRecords;
use streams::Streams;

/// Writes the trace. Event records are written as records are read.
///
/// # Errors
/// If the recording cannot be read or has no coroutine, or the output cannot be written.
pub fn show(config: &Config, view: &CtfView, out: &mut dyn Write) -> Result<()> {
    let message = whole_trace::export(config, |trace| {
        let mut events = 0;
        let path = dataset::write(&view.output, &trace.whole.start, |folder| {
            events = write(view, trace, folder)?;
            Ok(())
        })?;
        let events = units::counted(events, "event record");
        Ok(format!(
            "wrote {} ({events}); babeltrace2 reads it",
            path.display()
        ))
    })?;
    messages::confirm(config, Some(message), out)
}

/// Writes the files of the trace. Returns the number of event records.
fn write(view: &CtfView, trace: &WholeTrace<'_>, folder: &Folder) -> Result<u64> {
    let WholeTrace {
        names, selection, ..
    } = *trace;
    let start = &trace.whole.start;
    let mut records =
        EventRecords::new((trace.model, names), selection, Streams::new(folder, start));
    let judged = trace.read(|trace_model, record| {
        if selection.has_record(record) {
            records.take(trace_model, record);
        }
    })?;
    let model = judged.model(trace);
    records.set_model(model);
    stuck::explain(&view.judged, (model, names, &judged.stacks), |explained| {
        if selection.has(explained.member.0.id) {
            records.add_verdict(explained);
        }
        Ok(())
    })?;
    let (events, labels) = records.finish()?;
    let mut file = BufWriter::new(folder.create("metadata")?);
    metadata::write(start, &labels, &mut file)?;
    file.flush()?;
    Ok(events)
}
