//! What another user has planted where every user may make files.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::fs::Stat;
use rustix::process::geteuid;

use crate::words::shown;

/// An entry of a directory that is not to be followed or opened.
#[derive(Debug)]
pub struct ForeignEntry {
    /// Where it is.
    pub path: PathBuf,
    /// The user that it belongs to.
    pub owner: u32,
    /// What it is.
    pub kind: &'static str,
}

impl fmt::Display for ForeignEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} is a {} of another user (uid {}), in a directory where every user may make one",
            shown(&self.path),
            self.kind,
            self.owner
        )
    }
}

impl std::error::Error for ForeignEntry {}

impl From<ForeignEntry> for io::Error {
    fn from(entry: ForeignEntry) -> Self {
        io::Error::new(io::ErrorKind::PermissionDenied, entry)
    }
}

/// A directory in which every user may make files; with the sticky bit, or without, where they may even
/// replace those of others.
const SHARED: u32 = 0o0002;
/// All users that a user namespace does not know have this number, so that two of them may differ.
const UNKNOWN_UID: u32 = 65_534;

/// Is this the work of another user, and not of the owner of the directory either?
pub fn is_foreign(directory: &Stat, entry: &Stat) -> bool {
    let is_shared = directory.st_mode & SHARED == SHARED;
    let is_ours = entry.st_uid == geteuid().as_raw();
    let is_its_owners = entry.st_uid == directory.st_uid && entry.st_uid != UNKNOWN_UID;
    is_shared && !is_ours && !is_its_owners
}
