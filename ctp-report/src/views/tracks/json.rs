//! Writes trace events as the JSON that viewers read, each on a line.

use std::io::{self, BufWriter, Write};

use anyhow::Result;

use crate::config::TracksView;
use crate::output;
use crate::text::units;
use crate::views::tracks::model::{Sink, TraceEvent};

/// Writes what `tell` tells to where it is wanted; returns a line about the file, if there is one.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    view: &TracksView,
    out: &mut dyn Write,
    tell: impl FnOnce(&mut Sink<'_>) -> Result<()>,
) -> Result<Option<String>> {
    let Some(path) = &view.output else {
        document(out, tell, anyhow::Error::from)?;
        return Ok(None);
    };
    let name = path.display();
    let failed = |error| anyhow::Error::new(error).context(output::cannot_write(path));
    let mut file = BufWriter::new(output::create(path).map_err(failed)?);
    let events = document(&mut file, tell, failed)?;
    file.flush().map_err(failed)?;
    let events = units::counted(events, "trace event");
    Ok(Some(format!(
        "wrote {name} ({events}); open it in ui.perfetto.dev, chrome://tracing or speedscope"
    )))
}

/// The whole document, and how many events are in it. What cannot be written has `failed`; what cannot
/// be read is told as it is.
fn document(
    out: &mut dyn Write,
    tell: impl FnOnce(&mut Sink<'_>) -> Result<()>,
    failed: impl Fn(io::Error) -> anyhow::Error,
) -> Result<u64> {
    let mut list = List {
        out,
        events: 0,
        failed: None,
    };
    write!(list.out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[").map_err(&failed)?;
    tell(&mut Sink(&mut |event| list.add(event)))?;
    if let Some(error) = list.failed {
        return Err(failed(error));
    }
    writeln!(list.out, "\n]}}").map_err(&failed)?;
    Ok(list.events)
}

struct List<'o> {
    out: &'o mut dyn Write,
    events: u64,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
}

impl List<'_> {
    fn add(&mut self, event: &TraceEvent) {
        if self.failed.is_none() {
            self.failed = self.line(event).err();
        }
    }

    fn line(&mut self, event: &TraceEvent) -> io::Result<()> {
        let before: &[u8] = if self.events == 0 { b"\n" } else { b",\n" };
        self.out.write_all(before)?;
        serde_json::to_writer(&mut *self.out, event)?;
        self.events += 1;
        Ok(())
    }
}
