//! `--export parquet`, `sqlite` and `csv-tables`: all of a trace as tables, for SQL and for data frames.
//!
//! - `schema` describes the tables, and `rows` fills them from a trace.
//! - `value` has the values of a row, and the trait of the writers.
//! - `csv` and `parquet` write a file for each table into a folder of a `dataset`, which may have many
//!   traces. `sqlite` writes a database.

mod csv;
#[cfg(test)]
mod documentation;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
#[cfg_attr(
    not(all(feature = "parquet", feature = "sqlite")),
    allow(dead_code, reason = "only these formats have types and comments")
)]
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod value;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use ctp_trace::TraceModel;
use ctp_trace::record::Record;

use crate::config::{Config, StuckView, TableFormat, TablesView};
use crate::document;
use crate::evidence::selection::Selection;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::names::call_stacks::CallStacks;
use crate::output::dataset;
use crate::text::units;
use crate::views::stuck;
use rows::Rows;
use schema::TABLES;
use value::TableWriter;

/// What the rows are made from, apart from the records.
struct Source<'s> {
    input: &'s Input<'s>,
    /// The whole trace.
    whole: &'s Model,
    /// The trace, as if only the selected coroutines existed.
    model: &'s Model,
    /// The selected coroutines and time.
    selection: &'s Selection,
    /// The whole trace until processes dropped their coroutines in order to end, from which verdicts
    /// follow.
    judged: &'s Model,
    names: &'s Names,
    stacks: &'s CallStacks,
}

/// Writes the tables. The first pass over the trace collects names, and the second writes rows as
/// records are read.
///
/// # Errors
/// If the trace cannot be read or has no coroutine, or the output cannot be written.
pub fn show(config: &Config, view: &TablesView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let (model, mut names, selection) = document::select(config, &input)?;
    let earlier = input.before_shutdown(&model)?;
    let judged = earlier.as_ref().unwrap_or(&model);
    let stacks = document::call_stacks(config, &input, judged, &mut names);
    document::warn(&model);
    document::notice(names.misses());
    let selected = selection.model(&input)?;
    let source = Source {
        input: &input,
        whole: &model,
        model: selected.as_ref().unwrap_or(&model),
        selection: &selection,
        judged,
        names: &names,
        stacks: &stacks,
    };
    let path = write(view, &source)?;
    let events = units::counted(model.trace_model.totals().events, "event");
    let message = format!(
        "wrote {} ({events} and {} tables)",
        path.display(),
        TABLES.len()
    );
    document::confirm(config, Some(message), out)
}

/// Writes the tables in the requested format. Returns the path of the folder or file.
fn write(view: &TablesView, source: &Source<'_>) -> Result<PathBuf> {
    let (start, output) = (&source.model.start, view.output.as_path());
    let fill = |writer: &mut dyn TableWriter| fill(&view.judged, source, writer);
    match view.format {
        TableFormat::Csv => dataset::write(output, start, |folder| {
            fill(&mut csv::CsvFiles::create(folder)?)
        }),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => dataset::write(output, start, |folder| {
            fill(&mut parquet::ParquetFiles::create(folder)?)
        }),
        #[cfg(feature = "sqlite")]
        TableFormat::Sqlite => sqlite::write(output, start, fill),
    }
}

/// Writes all rows of the trace.
fn fill(view: &StuckView, source: &Source<'_>, writer: &mut dyn TableWriter) -> Result<()> {
    let selection = source.selection;
    let mut rows = Rows::new((source.model, source.names), selection, writer);
    rows.definitions(source.whole);
    let take = |trace_model: &TraceModel, record: &Record| rows.take(trace_model, record);
    let admit = |record: &Record| selection.keeps(record);
    source.input.part_with(admit, take)?;
    rows.finish()?;
    let judged = (source.judged, source.names, source.stacks);
    stuck::explain(view, judged, |explained| {
        match selection.has(explained.member.0.id) {
            true => rows.verdict(source.judged, explained),
            false => Ok(()),
        }
    })?;
    writer.finish()
}
