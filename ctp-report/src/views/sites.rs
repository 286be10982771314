//! The table of sites, which shows where time was spent. This view is shown if no option selects
//! another view.

mod columns;
pub mod model;
mod quantiles;
pub mod text;

use std::cell::RefCell;
use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::{Config, SitesView};
use crate::document::selected_trace::{self, SelectedTrace};
use crate::document::{self, hints, json::rows_by};
use crate::evidence::figures::Figures;
use crate::evidence::selected_sites::SelectedSites;
use crate::findings::Finding as _;
use crate::findings::leaks::{self, Leak};
use crate::findings::lints::{self, Watches};
use crate::load;
use crate::views::sites::quantiles::Quantiles;

/// Writes the table, with lints and leaks.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, view: &SitesView, out: &mut dyn Write) -> Result<()> {
    let mut quantiles = Quantiles::default();
    let mut watch = Watches::start(&view.allow);
    let sums = RefCell::new(SelectedSites::default());
    let input = load::open(config)?;
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::read(
        config,
        &input,
        |trace_model, record| {
            watch.see(trace_model, record);
            sums.borrow_mut().see(trace_model, record);
        },
        |trace_model, span| {
            quantiles.add(span);
            sums.borrow_mut().add(trace_model, span);
        },
    )?;
    let figures = Figures::of(&input, &model, &selection, sums.into_inner())?;
    let rows = model::rows(&model, &names, (&figures, &quantiles), view);
    let mut leaks = Vec::<Leak>::find(&model, &names);
    leaks::select(&mut leaks, &selection);
    let lints = watch.finish((&model, &names), &selection);
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
        selection.write(page)?;
        text::table(page, &rows, view, by_name)?;
        let first_runs = model::first_runs(&model, &names, &selection);
        text::long_runs(page, &rows, &first_runs, by_name)?;
        lints::text::page(page, &lints, &hints::tool(config))?;
        leaks.write(page)?;
        if config.is_quiet() {
            return Ok(());
        }
        text::hints(page, &hints::tool(config), by_name)
    })
}
