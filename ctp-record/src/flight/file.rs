//! The file of a snapshot: it is there once it is whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ctp_trace::Writer;
use ctp_trace::record::{End, Event, Record};

use super::compose::{Composed, compose};
use super::gathered::Gathered;
use super::plan::Plan;
use crate::error::TraceError;
use crate::harvest::Sink;
use crate::output::{Place, remember};

/// A snapshot that was written.
#[derive(Debug)]
pub struct Snapshot {
    /// The file, open at its end.
    pub file: File,
    /// What is in it.
    pub composed: Composed,
}

/// Writes a snapshot under another name, and puts it in place; what is there is kept as
/// `<path>.old`.
///
/// # Errors
/// [`TraceError::Output`], [`TraceError::Write`], [`TraceError::Misplaced`].
pub fn write(mut gathered: Gathered, path: &Path) -> Result<Snapshot, TraceError> {
    let start = gathered.start.clone();
    let (mut place, file) = Place::open(path)?;
    let failed = |error| TraceError::Write(path.to_owned(), error);
    let writer = Writer::new(BufWriter::new(file), &start).map_err(failed)?;
    let mut sink = FileSink {
        writer,
        records: 0,
        failed: None,
    };
    let plan = Plan::of(&mut gathered);
    let composed = compose(gathered, plan, &mut sink);
    let file = sink.finish(&composed.end).map_err(failed)?;
    place.tidy_up();
    let taken = place.take();
    taken.map_err(|(kept, error)| TraceError::Misplaced(path.to_owned(), kept, error))?;
    Ok(Snapshot { file, composed })
}

/// The first failure is kept, and nothing is written after it.
struct FileSink<W: Write> {
    writer: Writer<W>,
    /// Records written, without the start.
    records: u64,
    failed: Option<io::Error>,
}

impl FileSink<BufWriter<File>> {
    fn finish(self, end: &End) -> io::Result<File> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let file = self.writer.finish(&End {
            records: self.records,
            ..*end
        })?;
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl<W: Write> Sink for FileSink<W> {
    fn take(&mut self, record: Record) {
        if self.failed.is_none() {
            self.records += 1;
            remember(&mut self.failed, self.writer.write(&record));
        }
    }

    fn take_events(&mut self, events: &[Event]) {
        for event in events {
            if self.failed.is_none() {
                self.records += 1;
                remember(&mut self.failed, self.writer.write_event(event));
            }
        }
    }
}
