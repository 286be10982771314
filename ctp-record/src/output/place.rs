//! A file that is made beside its place, and takes it once it is to be seen.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::location::{Location, Target, resolve};
use crate::connect::leftovers;
use crate::error::TraceError;

/// Where a file is to lie. A device or a pipe is written to as it is, and has no such place.
#[derive(Debug)]
pub struct Place(Option<Waiting>);

#[derive(Debug)]
struct Waiting {
    location: Location,
    /// Until the file takes its place.
    draft: Option<Draft>,
}

/// A file under another name. Dropping it removes the file, unless that has taken its place.
#[derive(Debug)]
struct Draft(Option<Location>);

/// So many names that are taken were not given by recorders.
const MOST_NAMES: u32 = 100;

impl Place {
    /// Makes the file beside its place: what is there is not touched before [`take`](Self::take).
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn open(path: &Path) -> Result<(Self, File), TraceError> {
        let opened = resolve(path).and_then(|found| match found {
            Target::File(location) => Place::beside(location),
            Target::Other(existing) => Ok((Place(None), existing.open()?)),
        });
        opened.map_err(|error| TraceError::Output(path.to_owned(), error))
    }

    fn beside(location: Location) -> io::Result<(Self, File)> {
        let (draft, file) = Draft::make(&location)?;
        // Readers see by the lock that the file is being written. Where the file system has no
        // locks they do not.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let draft = Some(draft);
        Ok((Place(Some(Waiting { location, draft })), file))
    }

    /// Can a file be made there? Leaves nothing behind.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn check(path: &Path) -> Result<(), TraceError> {
        match resolve(path) {
            Ok(Target::File(_)) => Place::open(path).map(drop),
            // Opening a pipe would wait for its reader.
            Ok(Target::Other(_)) => Ok(()),
            Err(error) => Err(TraceError::Output(path.to_owned(), error)),
        }
    }

    /// Is it the place of a regular file?
    pub fn is_file(&self) -> bool {
        self.0.is_some()
    }

    /// The file takes its place. An earlier one is kept as `NAME.old`, never appended to.
    ///
    /// # Errors
    /// Those of the kernel, with the path of the file, which stays where it is.
    pub fn take(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let Some(Waiting { location, draft }) = &mut self.0 else {
            return Ok(());
        };
        let Some(draft) = draft.take() else {
            return Ok(());
        };
        draft.move_to(location)
    }

    /// Removes what recorders that were killed left beside it.
    pub fn tidy_up(&self) {
        if let Some(waiting) = &self.0 {
            leftovers::remove_drafts(&waiting.location);
        }
    }
}

impl Draft {
    /// Makes one beside its place, under a name that is free. As long as the file is open no other
    /// recorder takes it for left over, see `leftovers.rs`.
    fn make(place: &Location) -> io::Result<(Self, File)> {
        let pid = std::process::id();
        let mut last = io::ErrorKind::AlreadyExists.into();
        for number in 0..MOST_NAMES {
            let location = place.with_suffix(&format!(".new-{pid}-{number}"));
            match location.create_new() {
                Ok(file) => {
                    leftovers::claim(&file);
                    // Before that another recorder may have taken it for left over.
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

/// The draft stays, under a name by which no recorder takes it for left over. Gives its path.
fn keep(draft: &Location, place: &Location) -> PathBuf {
    let kept = place.with_suffix(&format!(".{}", std::process::id()));
    let is_kept = draft.rename_to(&kept).is_ok();
    let is_at = if is_kept { &kept } else { draft };
    is_at.path().to_owned()
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(location) = &self.0 {
            // One that cannot be removed has no events.
            let _ = location.remove();
        }
    }
}
