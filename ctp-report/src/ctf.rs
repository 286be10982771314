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
use crate::document;
use crate::evidence::selection::Selection;
use crate::load;
use crate::load::{Input, Model};
use crate::names::Names;
use crate::names::call_stacks::CallStacks;
use crate::output::dataset::{self, Folder};
use crate::text::units;
use crate::views::stuck;
use records::EventRecords;
use streams::Streams;

/// What is exported.
struct Source<'s> {
    input: &'s Input<'s>,
    model: &'s Model,
    /// The trace until processes dropped their coroutines in order to end, from which verdicts follow.
    judged: &'s Model,
    names: &'s Names,
    stacks: &'s CallStacks,
    selection: &'s Selection,
}

/// Writes the trace. The first pass over the recording collects names, and the second writes event records
/// as they are read.
///
/// # Errors
/// If the recording cannot be read or has no coroutine, or the output cannot be written.
pub fn show(config: &Config, view: &CtfView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let (model, mut names, selection) = document::select(config, &input)?;
    let earlier = input.before_shutdown(&model)?;
    let judged = earlier.as_ref().unwrap_or(&model);
    let stacks = document::call_stacks(config, &input, judged, &mut names);
    document::warn(&model);
    document::notice(names.misses());
    let source = Source {
        input: &input,
        model: &model,
        judged,
        names: &names,
        stacks: &stacks,
        selection: &selection,
    };
    let mut events = 0;
    let path = dataset::write(&view.output, &model.start, |folder| {
        events = write(view, &source, folder)?;
        Ok(())
    })?;
    let events = units::counted(events, "event record");
    let message = format!("wrote {} ({events}); babeltrace2 reads it", path.display());
    document::confirm(config, Some(message), out)
}

/// Writes the files of the trace. Returns the number of event records.
fn write(view: &CtfView, source: &Source<'_>, folder: &Folder) -> Result<u64> {
    let Source {
        model,
        judged,
        names,
        selection,
        ..
    } = *source;
    let selected = selection.model(source.input)?;
    let selected = selected.as_ref().unwrap_or(model);
    let mut records = EventRecords::new(selected, names, Streams::new(folder, &model.start));
    let admit = |record: &_| selection.keeps(record);
    source.input.part_with(admit, |trace_model, record| {
        if selection.has_record(record) {
            records.take(trace_model, record);
        }
    })?;
    records.set_model(judged);
    stuck::explain(&view.judged, (judged, names, source.stacks), |explained| {
        if selection.has(explained.member.0.id) {
            records.verdict(explained);
        }
        Ok(())
    })?;
    let (events, labels) = records.finish()?;
    let mut file = BufWriter::new(folder.create("metadata")?);
    metadata::write(&model.start, &labels, &mut file)?;
    file.flush()?;
    Ok(events)
}
