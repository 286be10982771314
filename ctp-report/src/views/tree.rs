//! `--tree`: which coroutine spawned which.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::{Config, TreeView};
use crate::document::{self, hints};

/// Shows each family of coroutines below the one that spawned it.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, view: TreeView, out: &mut dyn Write) -> Result<()> {
    let (model, names) = document::read(config)?;
    let tree = model::tree(&model, &names, view.threshold);
    let unknown = model.census.parents_unknown();
    let fields = || {
        json!({
            "threshold_ns": view.threshold.0,
            "parents_unknown": unknown,
            "tree": tree,
        })
    };
    document::write(config, (&model, &names), out, fields, |page| {
        text::table(page, &tree, view.all_ids)?;
        if config.is_quiet() {
            return Ok(());
        }
        text::hints(page, &tree, &hints::tool(config), unknown)
    })
}
