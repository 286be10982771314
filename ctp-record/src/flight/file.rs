//! Writes the file of a snapshot, which appears at its path when it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ctp_trace::Writer;
use ctp_trace::record::{End, Event, Record};

use super::assemble::{SnapshotSummary, assemble};
use super::plan::SnapshotPlan;
use super::snapshot_input::SnapshotInput;
use crate::error::TraceError;
use crate::harvest::Sink;
use crate::output::{Destination, remember};

/// A snapshot that was written.
#[derive(Debug)]
pub struct WrittenSnapshot {
    /// The file, open at its end.
    pub file: File,
    /// Counts of what it contains.
    pub summary: SnapshotSummary,
}

/// Writes a snapshot under a temporary name and moves it to its path. An existing file is kept as
/// `<path>.old`.
///
/// # Errors
/// [`TraceError::Output`], [`TraceError::Write`], [`TraceError::Misplaced`].
pub fn write(mut input: SnapshotInput, path: &Path) -> Result<WrittenSnapshot, TraceError> {
    let start = input.start.clone();
    let (mut destination, file) = Destination::open(path)?;
    let failed = |error| TraceError::Write(path.to_owned(), error);
    let writer = Writer::new(BufWriter::new(file), &start).map_err(failed)?;
    let mut sink = FileSink {
        writer,
        records: 0,
        failed: None,
    };
    let plan = SnapshotPlan::of(&mut input);
    let summary = assemble(input, plan, &mut sink);
    let file = sink.finish(&summary.end).map_err(failed)?;
    destination.tidy_up();
    let taken = destination.publish();
    taken.map_err(|(kept, error)| TraceError::Misplaced(path.to_owned(), kept, error))?;
    Ok(WrittenSnapshot { file, summary })
}

/// Writes records to a file. Keeps the first failure and writes nothing after it.
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
