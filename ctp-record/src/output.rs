//! The trace on disk.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Seek as _};
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use ctp_trace::record::{End, Event, Nanos, Record, Start};
use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;

use crate::backlog::Backlog;
use crate::encoder::{Encoder, Watched};
use crate::error::TraceError;
use crate::harvest::{Sink, Standstill};
use crate::leftovers;

/// Writes records to a file. The first failure ends the writing but not the recording: the
/// program is drained all the same.
pub struct Output {
    /// As the user named it.
    path: PathBuf,
    /// Where it is: not where a link lies, but where that leads.
    place: PathBuf,
    draft: Option<Draft>,
    encoder: Encoder,
    /// Nothing was taken since the latest flush, and this was lost then.
    flushed: Option<u64>,
    /// It could not take its place: where it lies for good.
    misplaced: Option<(PathBuf, io::Error)>,
}

/// Where the file lies until it takes its place. Without a recording it leaves nothing behind.
#[derive(Debug)]
struct Draft(PathBuf);

/// What is in the way of so many names is none of ours.
const MOST_NAMES: u32 = 100;

impl Draft {
    /// Makes one beside its place, where nothing is yet. As long as it is open nobody takes it for left
    /// over, see `leftovers.rs`.
    fn make(place: &Path) -> io::Result<(Self, File)> {
        let pid = std::process::id();
        let mut last = io::ErrorKind::AlreadyExists.into();
        for number in 0..MOST_NAMES {
            let name = with_suffix(place, &format!(".new-{pid}-{number}"));
            match File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&name)
            {
                Ok(file) => {
                    leftovers::claim(&file);
                    // Before that another recorder may have taken it for left over.
                    if is_at(&name, &file) {
                        return Ok((Draft(name), file));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// It stays, under a name by which nobody takes it for left over.
    fn keep(self, place: &Path) -> PathBuf {
        let kept = with_suffix(place, &format!(".{}", std::process::id()));
        match fs::rename(&self.0, &kept) {
            Ok(()) => kept,
            Err(_) => std::mem::take(&mut ManuallyDrop::new(self).0),
        }
    }
}

/// Where a file is to lie once it is whole. A device or a pipe is written to as it is.
#[derive(Debug)]
pub struct Place {
    place: PathBuf,
    draft: Option<Draft>,
}

impl Place {
    /// Makes the file beside its place.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn open(path: &Path) -> Result<(Self, File), TraceError> {
        let place = behind_link(path);
        let (draft, file) =
            open(&place).map_err(|error| TraceError::Output(path.to_owned(), error))?;
        Ok((Place { place, draft }, file))
    }

    /// Can a file be made there? Leaves nothing behind.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn check(path: &Path) -> Result<(), TraceError> {
        let place = behind_link(path);
        match () {
            () if place.is_dir() => Err(TraceError::Output(path.to_owned(), Errno::ISDIR.into())),
            () if has_draft(&place) => Place::open(path).map(drop),
            // A pipe would be waited for.
            () => Ok(()),
        }
    }

    /// The file is whole. One that is there is kept as `<path>.old`.
    ///
    /// # Errors
    /// [`TraceError::Misplaced`].
    pub fn take(mut self, path: &Path) -> Result<(), TraceError> {
        leftovers::remove_drafts(&self.place);
        let Some(draft) = self.draft.take() else {
            return Ok(());
        };
        let moved = keep_previous(&self.place).and_then(|()| fs::rename(&draft.0, &self.place));
        moved.map_err(|error| {
            let kept = draft.keep(&self.place);
            TraceError::Misplaced(path.to_owned(), kept, error)
        })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // One that took its place is not here any more; one that cannot be removed has no events.
        let _ = fs::remove_file(&self.0);
    }
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
        let place = behind_link(path);
        let failed = |error| TraceError::Output(path.to_owned(), error);
        let (draft, file) = open(&place).map_err(failed)?;
        let encoder = Encoder::start(file, start, draft.is_some(), backlog, watched);
        let encoder = encoder.map_err(failed)?;
        Ok(Output {
            path: path.to_owned(),
            place,
            draft,
            encoder,
            flushed: None,
            misplaced: None,
        })
    }

    /// The recording has begun: the file takes its place. One that is there is kept as
    /// `<path>.old`, never appended to.
    pub fn take_place(&mut self) {
        if let Some(draft) = self.draft.take() {
            let moved = keep_previous(&self.place).and_then(|()| fs::rename(&draft.0, &self.place));
            self.misplaced = moved.err().map(|error| (draft.keep(&self.place), error));
        }
        self.flush(0);
    }

    /// What was taken will be on disk soon, with the loss so far.
    pub fn flush(&mut self, lost: u64) {
        if self.flushed.replace(lost) != Some(lost) {
            self.encoder.flush(lost);
        }
    }

    /// Looks at what is stuck in what was taken, which is all until then.
    pub fn look(&mut self, at: Nanos, standstill: Standstill) {
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
        leftovers::remove_drafts(&self.place);
        match (self.encoder.finish(end), self.misplaced) {
            (Err(error), _) => Err(TraceError::CutShort(self.path, error)),
            (Ok(_), Some((draft, error))) => Err(TraceError::Misplaced(self.path, draft, error)),
            (Ok(file), None) if !is_at(&self.place, &file) => Err(TraceError::Gone(self.path)),
            (Ok(file), None) if !is_whole(&file) => Err(TraceError::Gone(self.path)),
            (Ok(file), None) => Ok(file),
        }
    }
}

impl Sink for Output {
    fn take(&mut self, record: Record) {
        self.flushed = None;
        self.encoder.take(&record);
    }

    fn take_events(&mut self, events: &[Event]) {
        self.flushed = None;
        self.encoder.take_events(events);
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

/// A draft for writing, and for reading it back; anything else for writing only, so that a pipe
/// whose reader went away is noticed.
fn open(place: &Path) -> io::Result<(Option<Draft>, File)> {
    if has_draft(place) {
        let (draft, file) = Draft::make(place)?;
        // As long as it is written; where the file system has no such thing, no reader is told.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        return Ok((Some(draft), file));
    }
    let mut options = File::options();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .open(place)?;
    Ok((None, file))
}

/// The file that a link leads to, also if it does not exist yet: that is the one to be kept as
/// `.old`. A link to a device or a pipe is opened as it is.
fn behind_link(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&place) {
            Ok(target) => place = place.parent().unwrap_or(Path::new("")).join(target),
            Err(_) if fs::metadata(path).is_ok_and(|it| !it.is_file()) => break,
            Err(_) => return place,
        }
    }
    path.to_owned()
}

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Only what is or will be a regular file is written elsewhere first.
fn has_draft(place: &Path) -> bool {
    fs::symlink_metadata(place).map_or(true, |metadata| metadata.is_file())
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

/// Keeps a file as `<path>.old`, if there is one.
///
/// # Errors
/// Those of the kernel: the directory cannot be written, say.
pub fn keep_previous(path: &Path) -> io::Result<()> {
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

/// For sinks that can fail: the first failure is kept.
pub fn remember(first: &mut Option<io::Error>, result: io::Result<()>) {
    if let (None, Err(error)) = (&first, result) {
        *first = Some(error);
    }
}
