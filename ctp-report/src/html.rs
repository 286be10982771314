//! `--html`: one page for a browser. It has what is stuck, a table of all coroutines or tasks alive, the
//! timeline and the flame graph.
//!
//! The file loads nothing from the network and opens from disk. The findings are plain elements, so that
//! they can be read without scripts; only the table needs a script. The graphics are complete SVG files
//! in frames of their own, so that their styles and scripts do not mix with those of the page.

mod charts;
mod coroutines;
mod page;
mod table;
mod tasks;

use std::io::Write;

use anyhow::Result;

use crate::config::filter::{Filter, Period};
use crate::config::{Config, HtmlView, StuckView};
use crate::document::Output;
use crate::document::{messages, selected_trace, trace_names};
use crate::evidence::selection::Selection;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::output;
use crate::text::{Page, Sections, escape};
use crate::views::{stacks, stuck};
use charts::Charts;
use page::{Contents, Graphic};
use table::Table;

/// Writes the page.
///
/// # Errors
/// If the trace cannot be read or has no coroutines, or the file cannot be written.
pub fn show(config: &Config, view: &HtmlView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let (whole, charts) = Charts::read(&input, Period::default(), Selection::default())?;
    let earlier = input.before_shutdown(&whole)?;
    let model = earlier.as_ref().unwrap_or(&whole);
    let mut names = trace_names::resolve(config, &input, model);
    let title = view.title.as_deref().map(escape);
    let title = title.unwrap_or_else(|| format!("{}: what is stuck", model.program_name()));
    let findings = findings(config, view, (&input, model, &mut names))?;
    let table = table(model, &names, &view.stuck, &config.filter);
    let read = (&input, &whole, &mut names);
    let file = page::write(&Contents {
        title: &title,
        findings: &findings,
        table: &table,
        graphics: &graphics(config, view, read, (charts, earlier.as_ref()))?,
    });
    let is_file = output::save(&view.html, file.as_bytes(), out)?;
    let (path, rows) = (view.html.display(), table.describe());
    let message = is_file.then(|| format!("wrote {path} ({rows}); open it in a browser"));
    messages::confirm(config, message, out)
}

/// The page of `--stuck`, as elements.
fn findings(
    config: &Config,
    view: &HtmlView,
    read: (&Input, &Model, &mut Names),
) -> Result<String> {
    let mut sections = Sections::default();
    let output = Output::Page(Page::html(&mut sections));
    stuck::report(config, &view.stuck, read, output)?;
    Ok(sections.into_html())
}

fn table(model: &Model, names: &Names, view: &StuckView, filter: &Filter) -> Table {
    if model.is_inspection() {
        tasks::table(model, names, view, filter)
    } else {
        coroutines::table(model, names, view, filter)
    }
}

/// The timeline and the flame graph of a recording, or the stacks that inspections found. `charts` are those
/// of the whole trace, and `earlier` is the model from just before a shutdown.
fn graphics(
    config: &Config,
    view: &HtmlView,
    (input, model, names): (&Input, &Model, &mut Names),
    (charts, earlier): (Charts, Option<&Model>),
) -> Result<Vec<Graphic>> {
    let config = &Config {
        filter: config.filter.for_graphics(),
        ..config.clone()
    };
    let threshold = view.stuck.threshold;
    if model.is_inspection() {
        let drawn = stacks::draw_all(config, (input, model, names), threshold)?;
        return Ok(Vec::from_iter(drawn.map(Graphic::stacks)));
    }
    if config.filter.is_empty() {
        return charts.draw((input, model, names), earlier, threshold);
    }
    let selection = selected_trace::select(config, input)?.selection;
    let (model, charts) = Charts::read(input, config.filter.time, selection)?;
    charts.draw((input, &model, names), earlier, threshold)
}
