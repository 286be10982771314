//! `--tree`: which coroutines spawned which.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;
use ctp_trace::record::Nanos;
use serde_json::json;

use crate::config::Config;
use crate::document::selected_trace::{self, SelectedTrace};
use crate::document::{self, hints};
use crate::load;

/// Writes the tree: each family of coroutines below its parent. `all_ids` lists the members of each
/// family.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, threshold: Nanos, all_ids: bool, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::select(config, &input)?;
    let tree = model::tree(&model, &names, threshold, &selection);
    let unknown = model.trace_model.parents_unknown();
    let fields = || {
        json!({
            "threshold_ns": threshold.0,
            "parents_unknown": unknown,
            "tree": tree,
        })
    };
    document::write(config, (&model, &names), out, fields, |page| {
        selection.write(page)?;
        text::table(page, &tree, all_ids)?;
        if config.is_quiet() {
            return Ok(());
        }
        text::hints(page, &tree, &hints::tool(config), unknown)
    })
}
