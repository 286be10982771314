//! `--export jsonl` and `--export csv`: events for the tools of coroTracer.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;

use crate::config::{Config, ExportView};
use crate::views::export::model::Exporter;
use crate::{document, load};

/// Writes the events as rows.
///
/// # Errors
/// If the trace cannot be read, or the file cannot be written.
pub fn show(config: &Config, view: &ExportView, out: &mut dyn Write) -> Result<()> {
    let mut exporter = Exporter::default();
    let model = load::open(config)?.model(|_, record| exporter.see(record), |_, _| {})?;
    model.check_not_empty()?;
    document::warn(&model);
    let rows = exporter.finish(&model);
    let message = text::write(&model, &rows, view, out)?;
    document::confirm(config, message, out)
}
