//! `--export jsonl` and `--export csv`: writes the events in the formats that the tools of coroTracer read.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;
use ctp_trace::TraceModel;
use ctp_trace::record::Record;

use crate::config::{Config, ExportView};
use crate::document::{messages, selected_trace};
use crate::evidence::selection::Selection;
use crate::load;
use crate::views::export::model::Exporter;

/// Writes the events as rows.
///
/// # Errors
/// If the trace cannot be read, or the file cannot be written.
pub fn show(config: &Config, view: &ExportView, out: &mut dyn Write) -> Result<()> {
    let mut exporter = Exporter::default();
    let input = load::open(config)?;
    let selection = if config.filter.is_empty() {
        Selection::default()
    } else {
        selected_trace::select(config, &input)?.selection
    };
    let see = |_: &TraceModel, record: &Record| {
        if !matches!(record, Record::Event(_)) || selection.has_record(record) {
            exporter.see(record);
        }
    };
    let model = input.model(see, |_, _| {})?;
    model.check_not_empty()?;
    messages::print_unread(&model);
    let rows = exporter.finish(&model);
    let message = text::write(&model, &rows, view, out)?;
    messages::confirm(config, message, out)
}
