//! `--histogram`: how long waits and runs took.

pub mod model;
pub mod text;

use std::cell::RefCell;
use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::Config;
use crate::document::selected_trace::{self, SelectedTrace};
use crate::document::{self, hints, json::rows_by};
use crate::evidence::figures::Figures;
use crate::evidence::selected_sites::SelectedSites;
use crate::load;

/// Writes a chart for each site, or for each name.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, out: &mut dyn Write) -> Result<()> {
    let sums = RefCell::new(SelectedSites::default());
    let input = load::open(config)?;
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::read(
        config,
        &input,
        |trace_model, record| sums.borrow_mut().see(trace_model, record),
        |trace_model, span| sums.borrow_mut().add(trace_model, span),
    )?;
    let figures = Figures::of(&input, &model, &selection, sums.into_inner())?;
    let charts = model::charts(&model, &names, &figures);
    let by_name = !figures.names.is_empty();
    document::write(
        config,
        (&model, &names),
        out,
        || json!({ "by": rows_by(by_name), "charts": charts }),
        |page| {
            selection.write(page)?;
            text::page(page, &charts, &hints::tool(config))
        },
    )
}
