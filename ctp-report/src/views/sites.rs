//! The table of sites, which shows where time was spent. This view is shown if no option selects
//! another view.

mod columns;
pub mod model;
mod quantiles;
pub mod text;

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::{Config, SitesView};
use crate::document::{self, hints, json::rows_by};
use crate::findings::Finding as _;
use crate::findings::leaks::Leak;
use crate::findings::lints::{self, Watches};
use crate::views::sites::quantiles::Quantiles;

/// Writes the table, with lints and leaks.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, view: &SitesView, out: &mut dyn Write) -> Result<()> {
    let mut quantiles = Quantiles::default();
    let mut watch = Watches::start(&view.allow);
    let (model, names) = document::read_with(
        config,
        |trace_model, record| watch.see(trace_model, record),
        |_, span| quantiles.add(span),
    )?;
    let rows = model::rows(&model, &names, &quantiles, view);
    let leaks = Vec::<Leak>::find(&model, &names);
    let lints = watch.finish(&model, &names);
    let by_name = model.is_by_name();
    let fields = || {
        json!({
            "by": rows_by(by_name),
            "sites": rows,
            "lints": lints,
            (<Vec<Leak>>::NAME): leaks,
        })
    };
    document::write(config, (&model, &names), out, fields, |page| {
        text::table(page, &rows, view, by_name)?;
        let first_runs = model::first_runs(&model, &names);
        text::long_runs(page, &rows, &first_runs, by_name)?;
        lints::text::page(page, &lints, &hints::tool(config))?;
        leaks.write(page)?;
        if config.is_quiet() {
            return Ok(());
        }
        text::hints(page, &hints::tool(config), by_name)
    })
}
