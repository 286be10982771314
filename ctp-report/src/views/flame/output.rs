//! Writes stacks: as a flame graph, as text, or both.

use std::io::Write;

use anyhow::{Result, bail};

use crate::config::{By, FlameView};
use crate::load::model::Model;
use crate::output;
use crate::text;
use crate::text::units;
use crate::views::flame::model::{self, Stacks};
use crate::views::flame::svg;
use ctp_trace::record::Nanos;

/// Writes the files that were asked for; returns a line about each.
///
/// # Errors
/// If there is nothing to draw, or a file cannot be written.
pub fn write(
    model: &Model,
    stacks: &Stacks,
    view: &FlameView,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    if stacks.is_empty() {
        match view.by {
            By::Wait => bail!("no coroutine waited, so there is nothing to draw: try --by run"),
            By::Run => bail!("no coroutine ran, so there is nothing to draw: try --by wait"),
        }
    }
    let folded = model::folded(stacks);
    let told = stacks_and_time(model, stacks);
    let mut said = Vec::new();
    if let Some(path) = &view.folded
        && output::save(path, folded.as_bytes(), out)?
    {
        said.push(format!("wrote {} ({told})", path.display()));
    }
    if let Some(path) = &view.svg {
        let drawn = svg::flame(&folded, &title(model, view), &told)?;
        if output::save(path, drawn.as_bytes(), out)? {
            let path = path.display();
            said.push(format!("wrote {path} ({told}); open it in a browser"));
        }
    }
    Ok(said)
}

fn title(model: &Model, view: &FlameView) -> String {
    let what = match view.by {
        By::Wait => "waiting time",
        By::Run => "running time",
    };
    let told = view.title.as_deref().map(text::escape);
    told.unwrap_or_else(|| format!("{}: {what} of its coroutines", model.program()))
}

/// How much there is, and whether more is missing.
fn stacks_and_time(model: &Model, stacks: &Stacks) -> String {
    let sum = stacks
        .values()
        .fold(0u64, |sum, ns| sum.saturating_add(*ns));
    let stacks = units::counted(stacks.len() as u64, "stack");
    let mut told = format!("{stacks}, {} in all", units::duration(Nanos(sum)));
    if !model.has_all_events() {
        told += "; approximate";
    }
    for (missing, thing, how) in [
        (model.lost(), "event", "lost"),
        (model.census.summed_up(), "event", "in totals only"),
        (model.refused(), "coroutine", "refused"),
    ] {
        if 0 < missing {
            told += &format!(", {} {how}", units::counted(missing, thing));
        }
    }
    told
}
