//! `--dump`: every record of the trace.

pub mod json;
pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;

use crate::config::Config;
use crate::document::selected_trace;
use crate::evidence::selection::Selection;
use crate::names::Names;
use crate::{document, load};

/// Writes every selected record, one per line.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let selection = if config.filter.is_empty() {
        Selection::default()
    } else {
        selected_trace::select(config, &input)?.selection
    };
    if !config.json {
        text::left_out(input.imported(), out)?;
        return Ok(text::write(input.reader()?, &selection, out)?);
    }
    let model = input.model(|_, _| {}, |_, _| {})?;
    let trace = document::json::trace(&model, &Names::default());
    Ok(json::write(&trace, input.reader()?, &selection, out)?)
}
