//! The trace on disk.

pub mod backlog;
pub mod deadlines;
pub mod encoder;
mod location;
mod place;
pub mod rate;
pub mod store;
pub mod watermark;

use std::fs::{self, File};
use std::io::{self, IsTerminal, Seek as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use ctp_trace::record::{End, Event, Nanos, ProcessId, Record, Start};
use rustix::fs::fstat;

use crate::error::TraceError;
use crate::harvest::{IdleReport, Sink};
use crate::output::backlog::Backlog;
use crate::output::deadlines::ProgramClocks;
use crate::output::encoder::{Encoder, Watched};
pub use location::{Location, Target, resolve};
pub use place::Place;

/// Writes records to a file. The first failure ends the writing but not the recording: the
/// program is drained all the same.
pub struct Output {
    /// As the user named it.
    path: PathBuf,
    /// Where it is: not where a link lies, but where that leads.
    place: Place,
    encoder: Encoder,
    /// Deadlines are told by the clocks of programs.
    clocks: ProgramClocks,
    /// Nothing was taken since the latest flush, and this was lost then.
    flushed: Option<u64>,
    /// It could not take its place: where it lies for good.
    misplaced: Option<(PathBuf, io::Error)>,
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
    /// `backlog` counts what is not written yet, and `watched` keeps account of what is.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn create(
        path: &Path,
        start: &Start,
        backlog: Backlog,
        watched: Option<Watched>,
    ) -> Result<Self, TraceError> {
        let (place, file) = Place::open(path)?;
        let encoder = Encoder::start(file, start, place.is_file(), backlog, watched);
        let encoder = encoder.map_err(|error| TraceError::Output(path.to_owned(), error))?;
        Ok(Output {
            path: path.to_owned(),
            place,
            encoder,
            clocks: ProgramClocks::default(),
            flushed: None,
            misplaced: None,
        })
    }

    /// The recording has begun: the file takes its place. One that is there is kept as
    /// `<path>.old`, never appended to.
    pub fn take_place(&mut self) {
        self.misplaced = self.place.take().err();
        self.flush(0);
    }

    /// What was taken will be on disk soon, with the loss so far.
    pub fn flush(&mut self, lost: u64) {
        if self.flushed.replace(lost) != Some(lost) {
            self.encoder.flush(lost);
        }
    }

    /// Looks at what is stuck in what was taken, which is all until then.
    pub fn look(&mut self, at: Nanos, standstill: IdleReport) {
        self.encoder.look(at, standstill);
    }

    /// Where it goes, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that are in the file.
    pub fn written_bytes(&self) -> u64 {
        self.encoder.written_bytes()
    }

    /// Why the file takes no more, once it does not.
    pub fn failure(&self) -> Option<&io::Error> {
        self.encoder.failure()
    }

    /// From now on nobody else waits for the caller: it may be kept waiting while there is much
    /// to write.
    pub fn be_patient(&mut self) {
        self.encoder.be_patient();
    }

    /// Ends the trace: the file, open at its end.
    ///
    /// # Errors
    /// [`TraceError::CutShort`], if not all of it is on disk; [`TraceError::Misplaced`] and [`TraceError::Gone`], if
    /// it is not where the user will look for it.
    pub fn finish(self, end: &End) -> Result<File, TraceError> {
        self.place.tidy_up();
        match (self.encoder.finish(end), self.misplaced) {
            (Err(error), _) => Err(TraceError::CutShort(self.path, error)),
            (Ok(_), Some((draft, error))) => Err(TraceError::Misplaced(self.path, draft, error)),
            (Ok(file), None) if !is_at(&self.path, &file) => Err(TraceError::Gone(self.path)),
            (Ok(file), None) if !is_whole(&file) => Err(TraceError::Gone(self.path)),
            (Ok(file), None) => Ok(file),
        }
    }
}

impl Sink for Output {
    fn take(&mut self, record: Record) {
        self.flushed = None;
        self.clocks.note_process(&record);
        self.clocks.note_coroutine(&record);
        self.encoder.take(&self.clocks.corrected(record));
    }

    fn take_events(&mut self, events: &[Event]) {
        self.flushed = None;
        self.encoder
            .take_events(&self.clocks.corrected_events(events));
    }

    fn take_clock(&mut self, process: ProcessId, ahead_ns: i64) {
        self.clocks.note_clock(process, ahead_ns);
    }
}

/// Refuses a trace that would go where the program's own output goes: both would be spoilt.
///
/// # Errors
/// [`TraceError::Output`].
pub fn check_apart(path: &Path) -> Result<(), TraceError> {
    let is_shared = is_stream(path, io::stdout()) || is_stream(path, io::stderr());
    match is_shared {
        true => Err(TraceError::Output(
            path.to_owned(),
            io::Error::other("the program's own output goes there"),
        )),
        false => Ok(()),
    }
}

/// Is it this stream? A device that swallows everything does not count.
fn is_stream(path: &Path, stream: impl AsFd + IsTerminal) -> bool {
    let (Ok(file), Ok(ours)) = (fs::metadata(path), fstat(&stream)) else {
        return false;
    };
    let swallows = file.file_type().is_char_device() && !stream.is_terminal();
    !swallows && (file.dev(), file.ino()) == (ours.st_dev, ours.st_ino)
}

/// Whether nobody has cut it: it ends where its writer does, and what was cut off before that and written
/// behind began anew with zeros.
fn is_whole(mut file: &File) -> bool {
    let (Ok(metadata), Ok(end)) = (file.metadata(), file.stream_position()) else {
        // A pipe has no position.
        return true;
    };
    let mut first = [0; 1];
    let begins = file.read_at(&mut first, 0).map_or(true, |_| first != [0]);
    !metadata.is_file() || (metadata.len() == end && begins)
}

/// Whether this file is what the user finds there. A device or a pipe is nowhere else.
fn is_at(place: &Path, file: &File) -> bool {
    let Ok(written) = file.metadata() else {
        return false;
    };
    let is_same =
        |found: fs::Metadata| (found.dev(), found.ino()) == (written.dev(), written.ino());
    !written.is_file() || fs::metadata(place).is_ok_and(is_same)
}

/// For sinks that can fail: the first failure is kept.
pub fn remember(first: &mut Option<io::Error>, result: io::Result<()>) {
    if let (None, Err(error)) = (&first, result) {
        *first = Some(error);
    }
}
