//! Writes trace events as the JSON that viewers read, each on a line.

use std::io::{self, Write};

use anyhow::Result;

use crate::config::TracksView;
use crate::output;
use crate::text::units;
use crate::views::tracks::model::Sink;

/// Writes what `tell` tells to where it is wanted; returns a line about the file, if there is one.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    view: &TracksView,
    out: &mut dyn Write,
    emit: impl FnOnce(&mut Sink<'_>) -> Result<()>,
) -> Result<Option<String>> {
    let path = view.output.as_deref();
    let events = output::write(path, out, |out| document(out, emit))??;
    let events = units::counted(events, "trace event");
    Ok(path.map(|path| {
        format!(
            "wrote {} ({events}); open it in ui.perfetto.dev, chrome://tracing or speedscope",
            path.display()
        )
    }))
}

/// The whole document, and how many events are in it. The inner error is of what cannot be read.
fn document(
    out: &mut dyn Write,
    emit: impl FnOnce(&mut Sink<'_>) -> Result<()>,
) -> io::Result<Result<u64>> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut sink = Sink::new(out);
    if let Err(unread) = emit(&mut sink) {
        return Ok(Err(unread));
    }
    let events = sink.finish()?;
    writeln!(out, "\n]}}")?;
    Ok(Ok(events))
}
