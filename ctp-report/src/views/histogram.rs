//! `--histogram`: how long waits and runs took.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::Config;
use crate::document::{self, hints, json::rows_by};

/// Writes a chart for each site, or for each name.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, out: &mut dyn Write) -> Result<()> {
    let (model, names) = document::read(config)?;
    let charts = model::charts(&model, &names);
    document::write(
        config,
        (&model, &names),
        out,
        || json!({ "by": rows_by(model.trace_model.has_aggregates()), "charts": charts }),
        |page| text::page(page, &charts, &hints::tool(config)),
    )
}
