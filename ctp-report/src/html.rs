//! `--html`: one page for a browser. It has what is stuck, a table of all coroutines or tasks alive, the
//! timeline and the flame graph.
//!
//! The file loads nothing from the network and opens from disk. The findings are plain elements, so that
//! they can be read without scripts; only the table needs a script. The graphics are complete SVG files
//! in frames of their own, so that their styles and scripts do not mix with those of the page.

mod coroutines;
mod page;
mod table;
mod tasks;

use std::io::Write;

use anyhow::Result;

use crate::config::{Config, Detail, HtmlView, TimelineView};
use crate::document::{self, Output};
use crate::load::{self, Input, Model};
use crate::output;
use crate::text::{Page, Sections, escape};
use crate::views::{flame, stacks, stuck, timeline};
use page::{Contents, Graphic};
use table::Table;

/// Writes the page.
///
/// # Errors
/// If the trace cannot be read or has no coroutines, or the file cannot be written.
pub fn show(config: &Config, view: &HtmlView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let model = input.model_before_shutdown()?;
    let title = view.title.as_deref().map(escape);
    let title = title.unwrap_or_else(|| format!("{}: what is stuck", model.program()));
    let table = table(config, view, (&input, &model));
    let file = page::write(&Contents {
        title: &title,
        findings: &findings(config, view, (&input, &model))?,
        table: &table,
        graphics: &graphics(config, view, (&input, &model))?,
    });
    let is_file = output::save(&view.html, file.as_bytes(), out)?;
    let (path, rows) = (view.html.display(), table.describe());
    let message = is_file.then(|| format!("wrote {path} ({rows}); open it in a browser"));
    document::confirm(config, message, out)
}

/// The page of `--stuck`, as elements.
fn findings(config: &Config, view: &HtmlView, (input, model): (&Input, &Model)) -> Result<String> {
    let config = Config {
        detail: Detail::Verbose,
        ..config.clone()
    };
    let mut sections = Sections::default();
    let output = Output::Page(Page::html(&mut sections));
    stuck::report(&config, &view.stuck, (input, model), output)?;
    Ok(sections.into_html())
}

fn table(config: &Config, view: &HtmlView, (input, model): (&Input, &Model)) -> Table {
    let names = document::names(config, input, model);
    if model.is_inspection() {
        tasks::table(model, &names, &view.stuck)
    } else {
        coroutines::table(model, &names, &view.stuck)
    }
}

/// The timeline and the flame graph of a recording, or the stacks that inspections found.
fn graphics(
    config: &Config,
    view: &HtmlView,
    (input, model): (&Input, &Model),
) -> Result<Vec<Graphic>> {
    let program = model.program();
    let threshold = view.stuck.threshold;
    if model.is_inspection() {
        let title = format!("{program}: where everything waits");
        let drawn = stacks::draw_all(config, (input, model), threshold, &title)?;
        return Ok(Vec::from_iter(drawn.map(Graphic::stacks)));
    }
    let timeline = TimelineView {
        svg: view.html.clone(),
        time: Default::default(),
        threshold,
        title: None,
    };
    let timeline = timeline::draw(config, &timeline, input)?;
    let title = format!("{program}: waiting time of its coroutines");
    let flame = flame::draw_waits(config, input, &title)?;
    let timeline = Graphic::timeline(timeline.svg);
    Ok([timeline]
        .into_iter()
        .chain(flame.map(Graphic::flame))
        .collect())
}
