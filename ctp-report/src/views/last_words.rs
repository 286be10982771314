//! `--last-words`: the last events of each coroutine that was alive at the end.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::Config;
use crate::document;
use crate::document::selected_trace::{self, SelectedTrace};
use crate::load;
use crate::views::last_words::model::LatestEvents;

/// Writes the last events of each live coroutine. Without `all_ids`, only the first coroutines have
/// their events.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, all_ids: bool, out: &mut dyn Write) -> Result<()> {
    let mut latest = LatestEvents::default();
    let input = load::open(config)?;
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::read(config, &input, |_, record| latest.see(record), |_, _| {})?;
    let all = all_ids || config.json;
    let limit = if all { usize::MAX } else { model::MAX_SHOWN };
    let words = latest.finish((&model, &names), &selection, limit);
    document::write(
        config,
        (&model, &names),
        out,
        || json!({ "last_words": words }),
        |page| {
            selection.write(page)?;
            text::page(page, &words, limit, model.duration())
        },
    )
}
