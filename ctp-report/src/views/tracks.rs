//! `--export chrome`: tracks for Perfetto and other viewers.

pub mod json;
pub mod model;

use std::io::Write;

use anyhow::Result;
use ctp_trace::record::Nanos;

use crate::config::{Config, TracksView};
use crate::time_scale::Scale;
use crate::views::tracks::model::Tracks;
use crate::{document, load};

/// Writes the tracks. The first pass over the trace collects names. The second pass writes records as
/// they are read.
///
/// # Errors
/// If the trace cannot be read, or the file cannot be written.
pub fn show(config: &Config, view: &TracksView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let (model, names, selection) = document::select(config, &input)?;
    document::warn(&model);
    document::notice(names.misses());
    let (from, to) = config.filter.time;
    let scale = Scale::new(from, to.unwrap_or(Nanos(u64::MAX)));
    let mut tracks = Tracks::new(&model, &names, scale);
    let message = json::write(view, out, |sink| {
        tracks.begin(sink);
        input.model(
            |trace_model, record| {
                if selection.keeps(record) {
                    tracks.take(trace_model, record, sink);
                }
            },
            |_, _| {},
        )?;
        tracks.finish(view.threshold, &selection, sink);
        Ok(())
    })?;
    document::confirm(config, message, out)
}
