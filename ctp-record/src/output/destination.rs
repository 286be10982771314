//! A file that is created beside its destination and moved there when it should become visible.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::location::{Location, OutputTarget, resolve};
use crate::connect::leftovers;
use crate::error::TraceError;

/// The destination of a file. `None` inside for a device or a pipe, which is written to directly.
#[derive(Debug)]
pub struct Destination(Option<Pending>);

#[derive(Debug)]
struct Pending {
    location: Location,
    /// The file, until it is moved to its destination.
    draft: Option<Draft>,
}

/// A file under a temporary name. Dropping a draft removes the file, unless it was moved.
#[derive(Debug)]
struct Draft(Option<Location>);

/// Temporary names to try. If all of them are in use, the files do not come from recorders.
const MAX_NAMES: u32 = 100;

impl Destination {
    /// Creates the file beside its destination. An existing file is not touched before [`publish`](Self::publish).
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn open(path: &Path) -> Result<(Self, File), TraceError> {
        let opened = resolve(path).and_then(|found| match found {
            OutputTarget::File(location) => Destination::draft_of(location),
            OutputTarget::Other(existing) => Ok((Destination(None), existing.open()?)),
        });
        opened.map_err(|error| TraceError::Output(path.to_owned(), error))
    }

    fn draft_of(location: Location) -> io::Result<(Self, File)> {
        let (draft, file) = Draft::make(&location)?;
        // From the lock, readers learn that the file is being written. Some file systems have no locks.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let draft = Some(draft);
        Ok((Destination(Some(Pending { location, draft })), file))
    }

    /// Checks whether a file can be created there. Leaves nothing behind.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn check(path: &Path) -> Result<(), TraceError> {
        match resolve(path) {
            Ok(OutputTarget::File(_)) => Destination::open(path).map(drop),
            // Opening a pipe would wait for its reader.
            Ok(OutputTarget::Other(_)) => Ok(()),
            Err(error) => Err(TraceError::Output(path.to_owned(), error)),
        }
    }

    /// Whether the destination is a regular file.
    pub fn is_file(&self) -> bool {
        self.0.is_some()
    }

    /// Whether an earlier file lies at the destination.
    pub fn is_occupied(&self) -> bool {
        let pending = self.0.as_ref();
        pending.is_some_and(|pending| pending.location.open_file().is_some())
    }

    /// Moves the file to its destination. An existing file is kept as `NAME.old`, never appended to.
    ///
    /// # Errors
    /// Those of the kernel, with the path where the file stays.
    pub fn publish(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let Some(Pending { location, draft }) = &mut self.0 else {
            return Ok(());
        };
        let Some(draft) = draft.take() else {
            return Ok(());
        };
        draft.move_to(location)
    }

    /// Removes drafts that killed recorders left beside the destination.
    pub fn tidy_up(&self) {
        if let Some(pending) = &self.0 {
            leftovers::remove_drafts(&pending.location);
        }
    }
}

impl Draft {
    /// Creates a draft beside its destination, under a free name. While the file is open, no other recorder
    /// takes it for a leftover (see `leftovers.rs`).
    fn make(place: &Location) -> io::Result<(Self, File)> {
        let pid = std::process::id();
        let mut last = io::ErrorKind::AlreadyExists.into();
        for number in 0..MAX_NAMES {
            let location = place.with_suffix(&format!(".new-{pid}-{number}"));
            match location.create_new() {
                Ok(file) => {
                    leftovers::claim(&file);
                    // Another recorder may have removed the file before it was claimed.
                    if location.holds(&file) {
                        return Ok((Draft(Some(location)), file));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn move_to(mut self, place: &Location) -> Result<(), (PathBuf, io::Error)> {
        let Some(draft) = self.0.take() else {
            return Ok(());
        };
        let moved = place.keep_previous();
        let moved = moved.and_then(|()| draft.rename_to(place));
        moved.map_err(|error| (keep(&draft, place), error))
    }
}

/// Keeps the draft under a name that no recorder takes for a leftover. Returns its path.
fn keep(draft: &Location, place: &Location) -> PathBuf {
    let kept = place.with_suffix(&format!(".{}", std::process::id()));
    let is_kept = draft.rename_to(&kept).is_ok();
    let is_at = if is_kept { &kept } else { draft };
    is_at.path().to_owned()
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(location) = &self.0 {
            // A draft that cannot be removed contains no events.
            let _ = location.remove();
        }
    }
}
