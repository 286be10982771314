//! Writes stacks: as a flame graph, as text, or both.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::config::{By, FlameView};
use crate::fold::{self, Stacks};
use crate::model::Model;
use crate::svg;
use crate::units;
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
    let folded = fold::folded(stacks);
    let mut said = Vec::new();
    if let Some(path) = &view.folded {
        if path == Path::new("-") {
            out.write_all(folded.as_bytes())?;
        } else {
            save(path, folded.as_bytes())?;
            said.push(format!(
                "wrote {} ({})",
                path.display(),
                stacks_and_time(stacks)
            ));
        }
    }
    if let Some(path) = &view.svg {
        let drawn = svg::flame(&folded, &title(model, view), &stacks_and_time(stacks))?;
        save(path, drawn.as_bytes())?;
        said.push(format!(
            "wrote {} ({}); open it in a browser",
            path.display(),
            stacks_and_time(stacks)
        ));
    }
    Ok(said)
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes)
        .with_context(|| format!("cannot write {}: name another file", path.display()))
}

fn title(model: &Model, view: &FlameView) -> String {
    let what = match view.by {
        By::Wait => "waiting time",
        By::Run => "running time",
    };
    view.title
        .clone()
        .unwrap_or_else(|| format!("{}: {what} of its coroutines", model.program()))
}

fn stacks_and_time(stacks: &Stacks) -> String {
    let sum = stacks
        .values()
        .fold(0u64, |sum, ns| sum.saturating_add(*ns));
    let stacks = units::counted(stacks.len() as u64, "stack");
    format!("{stacks}, {} in all", units::duration(Nanos(sum)))
}
