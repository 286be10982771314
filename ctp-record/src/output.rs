//! The trace on disk.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use ctp_trace::Writer;
use ctp_trace::record::{End, Record, Start};

use crate::error::Error;
use crate::harvest::{Sink, remember};

/// Writes records to a file. The first failure ends the writing but not the recording: the
/// program is drained all the same.
pub struct Output {
    path: PathBuf,
    /// Where the file lies until it takes its place.
    draft: Option<PathBuf>,
    writer: Writer<BufWriter<File>>,
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
    /// Makes the file, beside its place: nothing that is there is touched before
    /// [`take_place`](Self::take_place). A device or a pipe is written to as it is.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn create(path: &Path, start: &Start) -> Result<Self, Error> {
        let draft = draft_of(path);
        let writer = open(draft.as_deref().unwrap_or(path))
            .map(BufWriter::new)
            .and_then(|file| Writer::new(file, start))
            .map_err(|error| Error::Output(path.to_owned(), error))?;
        Ok(Output {
            path: path.to_owned(),
            draft,
            writer,
            failed: None,
        })
    }

    /// The recording has begun: the file takes its place. One that is there is kept as
    /// `<path>.old`, never appended to.
    pub fn take_place(&mut self) {
        if let Some(draft) = self.draft.take() {
            let moved = keep_previous(&self.path).and_then(|()| fs::rename(draft, &self.path));
            remember(&mut self.failed, moved);
        }
        self.flush(0);
    }

    /// Puts on disk what is complete, with the loss so far.
    pub fn flush(&mut self, lost: u64) {
        self.writer.set_lost(lost);
        if self.failed.is_none() {
            remember(&mut self.failed, self.writer.flush());
        }
    }

    /// Ends the trace: the file, open at its end.
    ///
    /// # Errors
    /// [`Error::Write`], if not all of it is on disk.
    pub fn finish(self, end: &End) -> Result<File, Error> {
        let written = match self.failed {
            Some(error) => Err(error),
            None => self
                .writer
                .finish(end)
                .and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error)),
        };
        written.map_err(|error| Error::Write(self.path, error))
    }

    /// There was nothing to record: leaves no file behind.
    pub fn discard(self) {
        if let Some(draft) = self.draft {
            // One that cannot be removed is empty.
            let _ = fs::remove_file(draft);
        }
    }
}

impl Sink for Output {
    fn take(&mut self, record: Record) {
        if self.failed.is_none() {
            remember(&mut self.failed, self.writer.write(&record));
        }
    }
}

/// For writing, and for reading it back where that is possible.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    let both = options.clone().read(true).open(path);
    both.or_else(|_| options.open(path))
}

/// Only what is or will be a regular file is written elsewhere first.
fn draft_of(path: &Path) -> Option<PathBuf> {
    let is_file = fs::symlink_metadata(path).map_or(true, |metadata| metadata.is_file());
    is_file.then(|| with_suffix(path, &format!(".new-{}", std::process::id())))
}

fn keep_previous(path: &Path) -> io::Result<()> {
    match fs::rename(path, with_suffix(path, ".old")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
