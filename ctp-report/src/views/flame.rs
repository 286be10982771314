//! `--flame` and `--folded`: where time went, as stacks.

pub mod model;
pub mod output;
mod svg;

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use crate::config::{By, Config, FlameView};
use crate::document;
use crate::views::flame::model::Folder;

/// Writes the stacks as a flame graph, as text, or as JSON.
///
/// # Errors
/// If the trace cannot be read, or a file cannot be written.
pub fn show(config: &Config, view: &FlameView, out: &mut dyn Write) -> Result<()> {
    let mut folder = Folder::new(view.by);
    let (model, names) =
        document::read_with(config, |_, _| {}, |census, span| folder.add(census, span))?;
    document::warn(&model);
    let stacks = folder.finish(&model, &names);
    let said = output::write(&model, &stacks, view, out)?;
    if !config.json {
        return document::confirm(config, said, out);
    }
    let by = if view.by == By::Wait { "wait" } else { "run" };
    let stacks = stacks.iter();
    let stacks: Vec<Value> = stacks
        .map(|(frames, ns)| json!({ "frames": frames, "ns": ns }))
        .collect();
    let trace = document::json::trace(&model, &names);
    let fields = json!({ "by": by, "stacks": stacks });
    Ok(document::json::write(trace, fields, out)?)
}
