//! `--export chrome`, `firefox`, `perfetto` and `otlp`: tracks for viewers of traces.

mod chrome;
mod firefox;
pub mod model;
mod otlp;
mod perfetto;
pub mod sink;
mod texts;

use std::io::Write;

use anyhow::Result;
use ctp_trace::record::Nanos;

use crate::config::{Config, TrackFormat, TracksView};
use crate::document::{
    messages,
    selected_trace::{self, SelectedTrace},
};
use crate::load::Model;
use crate::text::units;
use crate::time_scale::Scale;
use crate::views::tracks::model::Tracks;
use crate::views::tracks::sink::TrackSink;
use crate::{load, output};

/// Writes the tracks. The first pass over the trace collects names. The second pass writes records as
/// they are read.
///
/// # Errors
/// If the trace cannot be read, or the file cannot be written.
pub fn show(config: &Config, view: &TracksView, out: &mut dyn Write) -> Result<()> {
    if view.format == TrackFormat::Perfetto {
        output::refuse_terminal(view.output.as_deref(), "perfetto")?;
    }
    let input = load::open(config)?;
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::select(config, &input)?;
    messages::print_unread(&model);
    messages::print_notes(names.misses());
    let (from, to) = config.filter.time;
    let scale = Scale::new(from, to.unwrap_or(Nanos(u64::MAX)));
    let earlier = input.before_shutdown(&model)?;
    let judged = (&model, earlier.as_ref());
    let mut tracks = Tracks::new(judged, &names, scale, view.threshold);
    let message = write(&model, view, out, |sink| {
        tracks.begin(sink);
        input.model(
            |trace_model, record| {
                if selection.keeps(record) {
                    tracks.take(trace_model, record, sink);
                }
            },
            |_, _| {},
        )?;
        tracks.finish(&selection, sink);
        Ok(())
    })?;
    messages::confirm(config, message, out)
}

/// Writes what `emit` passes to the sink. Returns a line about the file, if any.
fn write(
    model: &Model,
    view: &TracksView,
    out: &mut dyn Write,
    emit: impl FnOnce(&mut dyn TrackSink) -> Result<()>,
) -> Result<Option<String>> {
    let path = view.output.as_deref();
    let events = output::write(path, out, |out| match view.format {
        TrackFormat::Chrome => chrome::document(out, emit),
        TrackFormat::Firefox => firefox::document(model, out, emit),
        TrackFormat::Perfetto => perfetto::document(model, out, emit),
        TrackFormat::Otlp => otlp::document(model, out, emit),
    })??;
    let (what, next) = match view.format {
        TrackFormat::Chrome => (
            "trace event",
            "open it in ui.perfetto.dev, chrome://tracing or speedscope",
        ),
        TrackFormat::Firefox => ("marker", "open it in profiler.firefox.com"),
        TrackFormat::Perfetto => ("trace event", "open it in ui.perfetto.dev"),
        TrackFormat::Otlp => (
            "span",
            "the OpenTelemetry collector reads it with otlpjsonfile",
        ),
    };
    let events = units::counted(events, what);
    Ok(path.map(|path| format!("wrote {} ({events}); {next}", path.display())))
}
