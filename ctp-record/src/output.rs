//! Writes the trace to disk.

pub mod backlog;
pub mod deadlines;
mod destination;
pub mod encoder;
mod location;
pub mod rate;
pub mod start_and_end;
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
use crate::leaves::Leaves;
use crate::output::backlog::Backlog;
use crate::output::deadlines::ProgramClocks;
use crate::output::encoder::{EncoderHandle, Watched};
pub use destination::Destination;
pub use location::{Location, OutputTarget, resolve};

/// Writes records to a file. The first failure ends the writing but not the recording: the program's
/// lanes are drained all the same.
pub struct Output {
    /// The path as the user named it.
    path: PathBuf,
    /// Where the file will be, with links resolved.
    destination: Destination,
    encoder: EncoderHandle,
    /// Converts deadlines, which programs state on their own clocks.
    clocks: ProgramClocks,
    /// What the leaf futures of await chains wait for.
    leaves: Leaves,
    /// The number of lost events at the latest flush, if no record was taken since.
    flushed: Option<u64>,
    /// An earlier trace stays at the destination until this one has a coroutine, task or thread.
    keeps_earlier: bool,
    /// The path where the file stays, and the reason, if it could not be moved to its destination.
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
    /// Creates the file beside its destination: an existing file is not touched before
    /// [`take_place`](Self::take_place). A device or a pipe is written to directly. `backlog` counts what is
    /// not written yet; `watched` keeps a model of the records for the stuck monitor.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn create(
        path: &Path,
        start: &Start,
        backlog: Backlog,
        watched: Option<Watched>,
    ) -> Result<Self, TraceError> {
        let (destination, file) = Destination::open(path)?;
        let encoder = EncoderHandle::start(file, start, destination.is_file(), backlog, watched);
        let encoder = encoder.map_err(|error| TraceError::Output(path.to_owned(), error))?;
        Ok(Output {
            path: path.to_owned(),
            destination,
            encoder,
            clocks: ProgramClocks::default(),
            leaves: Leaves::default(),
            flushed: None,
            keeps_earlier: false,
            misplaced: None,
        })
    }

    /// Moves the file to its destination when the recording begins. If an earlier trace lies there, the file is
    /// moved with its first coroutine instead: a run that records nothing leaves the earlier trace in place.
    pub fn take_place(&mut self) {
        if self.destination.is_occupied() {
            self.keeps_earlier = true;
        } else {
            self.publish();
        }
    }

    /// Moves the file to its destination. An existing file is kept as `<path>.old`, never appended to.
    fn publish(&mut self) {
        self.keeps_earlier = false;
        self.misplaced = self.destination.publish().err();
        self.flush(0);
    }

    /// Prepares the end of the trace. Returns whether an earlier trace stays at the destination, because nothing
    /// was recorded. A trace in which coroutines or processes are missing is a result, and is kept.
    pub fn keeps_earlier(&mut self, end: &End) -> bool {
        let is_result = (end.coroutines, end.refused, end.unrecorded) != (0, 0, 0);
        if self.keeps_earlier && is_result {
            self.publish();
        }
        self.keeps_earlier
    }

    /// What the leaf futures of await chains wait for.
    pub fn leaves(&mut self) -> &mut Leaves {
        &mut self.leaves
    }

    /// Schedules writing everything taken so far to disk, with the present count of losses.
    pub fn flush(&mut self, lost: u64) {
        if self.flushed.replace(lost) != Some(lost) {
            self.encoder.flush(lost);
        }
    }

    /// Reports what is stuck as of `at`. Everything before that time has been taken.
    pub fn judge(&mut self, at: Nanos, idle: IdleReport) {
        self.encoder.judge(at, idle);
    }

    /// The path as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written to the file.
    pub fn written_bytes(&self) -> u64 {
        self.encoder.written_bytes()
    }

    /// The reason why the file takes no more records, if any.
    pub fn failure(&self) -> Option<&io::Error> {
        self.encoder.failure()
    }

    /// Lets calls wait while there is much to write. Call this once no program depends on the caller's speed.
    pub fn allow_waiting(&mut self) {
        self.encoder.allow_waiting();
    }

    /// Ends the trace. Returns the file, open at its end. The file has no name if an earlier trace stays at the
    /// destination, see [`keeps_earlier`](Self::keeps_earlier).
    ///
    /// # Errors
    /// [`TraceError::CutShort`], if not all of it is on disk; [`TraceError::Misplaced`] and [`TraceError::Removed`], if
    /// it is not where the user will look for it.
    pub fn finish(self, end: &End) -> Result<File, TraceError> {
        self.destination.tidy_up();
        match (self.encoder.finish(end), self.misplaced) {
            (Err(error), _) => Err(TraceError::CutShort(self.path, error)),
            (Ok(_), Some((draft, error))) => Err(TraceError::Misplaced(self.path, draft, error)),
            (Ok(file), None) if self.keeps_earlier => Ok(file),
            (Ok(file), None) if !is_at(&self.path, &file) => Err(TraceError::Removed(self.path)),
            (Ok(file), None) if !is_whole(&file) => Err(TraceError::Removed(self.path)),
            (Ok(file), None) => Ok(file),
        }
    }
}

impl Sink for Output {
    fn take(&mut self, record: Record) {
        self.flushed = None;
        if self.keeps_earlier && is_finding(&record) {
            self.publish();
        }
        self.leaves.note(&record);
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

/// Whether a trace with this record is worth more than an earlier trace.
fn is_finding(record: &Record) -> bool {
    matches!(
        record,
        Record::Birth(_) | Record::InspectedTask(_) | Record::InspectedThread(_)
    )
}

/// Rejects a path that leads to the program's own output: both would be spoilt.
///
/// # Errors
/// [`TraceError::Output`].
pub fn check_separate(path: &Path) -> Result<(), TraceError> {
    let is_shared = is_stream(path, io::stdout()) || is_stream(path, io::stderr());
    if !is_shared {
        return Ok(());
    }
    Err(TraceError::Output(
        path.to_owned(),
        io::Error::other("the program's own output goes there"),
    ))
}

/// Whether the path leads to this stream. A device that discards its input does not count.
fn is_stream(path: &Path, stream: impl AsFd + IsTerminal) -> bool {
    let (Ok(file), Ok(ours)) = (fs::metadata(path), fstat(&stream)) else {
        return false;
    };
    let swallows = file.file_type().is_char_device() && !stream.is_terminal();
    !swallows && (file.dev(), file.ino()) == (ours.st_dev, ours.st_ino)
}

/// Whether the file was not truncated by another process. A truncated file ends elsewhere than its writer,
/// or, if written again behind the cut, begins with zeros.
fn is_whole(mut file: &File) -> bool {
    let (Ok(metadata), Ok(end)) = (file.metadata(), file.stream_position()) else {
        // A pipe has no position.
        return true;
    };
    let mut first = [0; 1];
    let begins = file.read_at(&mut first, 0).map_or(true, |_| first != [0]);
    !metadata.is_file() || (metadata.len() == end && begins)
}

/// Whether the user will find this file at `place`. Always true for a device or a pipe.
fn is_at(place: &Path, file: &File) -> bool {
    let Ok(written) = file.metadata() else {
        return false;
    };
    !written.is_file()
        || fs::metadata(place)
            .is_ok_and(|found| (found.dev(), found.ino()) == (written.dev(), written.ino()))
}

/// Keeps the first failure of a sink.
pub fn remember(first: &mut Option<io::Error>, result: io::Result<()>) {
    if let (None, Err(error)) = (&first, result) {
        *first = Some(error);
    }
}
