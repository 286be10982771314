//! `ctp-report diff BEFORE AFTER`: which waits changed between two recordings.

mod bootstrap;
mod collector;
mod common;
mod flame;
mod hypotheses;
mod matching;
mod model;
mod profile;
mod sample;
mod series;
mod significance;
mod text;

use std::fs;
use std::io::Write;
use std::thread;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::config::{Config, DiffView, LeastChange};
use crate::document::{Output, json as document};
use crate::load;
use crate::output;
use crate::text::Page;
use crate::views::diff::model::Comparison;
use crate::views::diff::profile::Profile;

/// Writes the changes.
///
/// # Errors
/// If a trace cannot be read or has only totals, or an output cannot be written.
pub fn show(config: &Config, view: &DiffView, out: &mut dyn Write) -> Result<()> {
    let (before, after) = read(config, view)?;
    let pairs = matching::pairs(&before, &after);
    let comparison = model::compare((&before, &after), &pairs, view.least);
    if let Some(path) = &view.flame {
        let drawn = flame::draw(&pairs, &after.about.program)?;
        if !output::save(path, drawn.as_bytes(), out)? {
            return Ok(());
        }
    }
    match Output::of(config, out) {
        Output::Json(out) => {
            let fields = fields(&before, &comparison, view.least);
            Ok(document::write(after.about.json.clone(), fields, out)?)
        }
        Output::Page(page) => write_page(config, view, (&before, &after), &comparison, page),
    }
}

/// Reads both traces, at the same time if both are files. The limit is that of the process, so that both have
/// the same: the one that the user gave, or else what both together may take.
fn read(config: &Config, view: &DiffView) -> Result<(Profile, Profile)> {
    let sizes = [&view.before, &view.after].map(fs::metadata);
    let [Ok(before), Ok(after)] = sizes.map(|size| size.map(|size| size.len())) else {
        return Ok((
            profile::read(config, &view.before)?,
            profile::read(config, &view.after)?,
        ));
    };
    let usual = load::memory::usual_limit(before).saturating_add(load::memory::usual_limit(after));
    let config = Config {
        max_memory: config.max_memory.or(Some(usual)),
        ..config.clone()
    };
    let (before, after) = thread::scope(|scope| {
        let before = scope.spawn(|| profile::read(&config, &view.before));
        let after = profile::read(&config, &view.after);
        (before.join(), after)
    });
    let before = before.unwrap_or_else(|_| Err(anyhow!("the thread that reads a trace panicked")));
    Ok((before?, after?))
}

fn fields(before: &Profile, comparison: &Comparison, least: LeastChange) -> Value {
    json!({
        "before": before.about.json,
        "min_change": least.share,
        "min_time_ns": least.time.0,
        "changes": comparison.changes,
        "common": comparison.common,
        "new": comparison.new,
        "gone": comparison.removed,
        "noise": comparison.noise,
        "too_few": comparison.too_few,
        "sites": comparison.sites,
    })
}

fn write_page(
    config: &Config,
    view: &DiffView,
    (before, after): (&Profile, &Profile),
    comparison: &Comparison,
    mut page: Page,
) -> Result<()> {
    if !config.is_quiet() {
        text::header(&mut page, "before", &view.before, &before.about)?;
        text::header(&mut page, "after", &view.after, &after.about)?;
        text::relation(&mut page, before, after, comparison.shared)?;
    }
    text::page(&mut page, comparison, view.least)?;
    Ok(page.end()?)
}
