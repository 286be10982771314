//! `--why`: the chain of wakes that led a coroutine to its present state.

pub mod model;
pub mod text;

use std::io::Write;

use anyhow::{Result, bail};
use ctp_trace::record::Nanos;
use serde_json::json;

use crate::config::Config;
use crate::document;
use crate::evidence::{self, Member};
use crate::views::why::model::Question;
use crate::views::why::model::causes::Causes;

/// Writes the page about the coroutine `id`.
///
/// # Errors
/// If the trace cannot be read, `out` cannot be written, or the coroutine was not alive at the end.
pub fn show(config: &Config, id: u32, threshold: Nanos, out: &mut dyn Write) -> Result<()> {
    let mut causes = Causes::default();
    let mut requested = Question::of(id);
    let (model, names) = document::read_with(
        config,
        |trace_model, record| {
            causes.see(trace_model, record);
            requested.see(record);
        },
        |_, _| {},
    )?;
    let members: Vec<Member> = evidence::members(&model.trace_model, threshold).collect();
    let Some(why) = model::why(&model, &names, &causes, &members, id) else {
        bail!(
            "{}; --stuck --ids and --last-words list those that were alive at the end",
            requested.why_not(model.trace_model.totals().coroutines)
        );
    };
    document::write(
        config,
        (&model, &names),
        out,
        || json!({ "why": why }),
        |page| text::page(page, &why),
    )
}
