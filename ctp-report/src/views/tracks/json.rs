//! Writes the JSON document that viewers read, one trace event per line.

use std::io::{self, Write};

use anyhow::Result;

use crate::config::TracksView;
use crate::output;
use crate::text::units;
use crate::views::tracks::model::Sink;

/// Writes the trace events of `emit` to the requested output. Returns a line about the file, if any.
///
/// # Errors
/// If the trace cannot be read, or the output cannot be written.
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

/// Writes the document. Returns the number of trace events. The inner error is that of reading the
/// trace.
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
