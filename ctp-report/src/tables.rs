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

use crate::config::{Config, StuckView, TableFormat, TablesView};
use crate::document::messages;
use crate::document::whole_trace;
use crate::document::whole_trace::WholeTrace;
use crate::output::dataset;
use crate::text::units;
use crate::views::stuck;
use rows::Rows;
use schema::TABLES;
use value::TableWriter;

/// Writes the tables. Rows are written as records are read.
///
/// # Errors
/// If the trace cannot be read or has no coroutine, or the output cannot be written.
pub fn show(config: &Config, view: &TablesView, out: &mut dyn Write) -> Result<()> {
    let message = whole_trace::export(config, |trace| {
        let path = write(view, trace)?;
        let events = units::counted(trace.whole.trace_model.totals().events, "event");
        Ok(format!(
            "wrote {} ({events} and {} tables)",
            path.display(),
            TABLES.len()
        ))
    })?;
    messages::confirm(config, Some(message), out)
}

/// Writes the tables in the requested format. Returns the path of the folder or file.
fn write(view: &TablesView, trace: &WholeTrace<'_>) -> Result<PathBuf> {
    let (start, output) = (&trace.model.start, view.output.as_path());
    let fill = |writer: &mut dyn TableWriter| fill(&view.judged, trace, writer);
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
fn fill(view: &StuckView, trace: &WholeTrace<'_>, writer: &mut dyn TableWriter) -> Result<()> {
    let selection = trace.selection;
    let mut rows = Rows::new((trace.model, trace.names), selection, writer);
    rows.write_definitions(trace.whole);
    let judged = trace.read(|trace_model, record| rows.take(trace_model, record))?;
    rows.finish()?;
    let model = judged.model(trace);
    stuck::explain(view, (model, trace.names, &judged.stacks), |explained| {
        if selection.has(explained.member.0.id) {
            rows.write_verdict(model, explained)
        } else {
            Ok(())
        }
    })?;
    writer.finish()
}
