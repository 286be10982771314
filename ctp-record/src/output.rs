//! The trace on disk, and the model that tells at once what looks stuck.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ctp_trace::Writer;
use ctp_trace::census::Census;
use ctp_trace::record::{End, Record, Start};

use crate::error::Error;
use crate::harvest::{Sink, remember};

/// Writes records to a file. The first failure ends the writing but not the recording: the
/// program is drained all the same.
pub struct Output {
    path: PathBuf,
    writer: Writer<File>,
    census: Census,
    failed: Option<io::Error>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Output")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Output {
    /// Makes the file; one that is there is kept as `<path>.old`, never appended to.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn create(path: &Path, start: &Start) -> Result<Self, Error> {
        let writer = keep_previous(path)
            .and_then(|()| File::create(path))
            .and_then(|file| Writer::new(file, start))
            .map_err(|error| Error::Output(path.to_owned(), error))?;
        let mut census = Census::new();
        census.feed(&Record::Start(start.clone()));
        Ok(Output {
            path: path.to_owned(),
            writer,
            census,
            failed: None,
        })
    }

    /// Puts on disk what is complete, with the loss so far.
    pub fn flush(&mut self, lost: u64) {
        self.writer.set_lost(lost);
        if self.failed.is_none() {
            remember(&mut self.failed, self.writer.flush());
        }
    }

    /// Ends the trace. What was found in it, and whether all of it is on disk.
    pub fn finish(mut self, end: &End) -> (Census, Result<u64, Error>) {
        self.census.feed(&Record::End(*end));
        let written = match self.failed {
            Some(error) => Err(error),
            None => self
                .writer
                .finish(end)
                .and_then(|file| file.metadata())
                .map(|metadata| metadata.len()),
        };
        let path = self.path;
        (
            self.census,
            written.map_err(|error| Error::Write(path, error)),
        )
    }
}

impl Sink for Output {
    fn take(&mut self, record: Record) {
        self.census.feed(&record);
        if self.failed.is_none() {
            remember(&mut self.failed, self.writer.write(&record));
        }
    }
}

/// A regular file is renamed; a device or a pipe is written to as it is.
fn keep_previous(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            let mut old = OsString::from(path);
            old.push(".old");
            fs::rename(path, old)
        }
        _ => Ok(()),
    }
}
