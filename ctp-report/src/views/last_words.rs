//! `--last-words`: what each coroutine did last that was alive at the end.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::Config;
use crate::document;
use crate::views::last_words::model::Listener;

/// Shows the last events of each coroutine; of many, only of the first unless `all_ids`.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, all_ids: bool, out: &mut dyn Write) -> Result<()> {
    let mut listener = Listener::default();
    let (model, names) = document::read_with(config, |_, record| listener.hear(record), |_, _| {})?;
    let all = all_ids || config.json;
    let reported = if all { usize::MAX } else { model::MAX_SHOWN };
    let words = listener.finish(&model, &names, reported);
    let fields = || json!({ "last_words": words });
    document::write(config, (&model, &names), out, fields, |page| {
        text::page(page, &words, reported, model.duration())
    })
}
