//! Whose an entry of a directory is, and whether it may be used.

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::Stat;
use rustix::process::geteuid;

use crate::escape;

/// An entry of a directory that is not to be followed or opened.
#[derive(Debug)]
pub struct ForeignEntry {
    /// Where it is.
    pub path: PathBuf,
    /// The user that it belongs to.
    pub owner: u32,
    /// What it is.
    pub kind: &'static str,
    /// The other user that made its directory, if that is why it is refused.
    pub planted_by: Option<u32>,
}

impl fmt::Display for ForeignEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escape::escaped_bytes(self.path.as_os_str().as_bytes());
        let (kind, owner) = (self.kind, self.owner);
        write!(
            out,
            "{path} is a {kind} of another user (uid {owner}), in a directory "
        )?;
        match self.planted_by {
            None => out.write_str("where every user may make one"),
            Some(uid) => write!(
                out,
                "that another user (uid {uid}) made where every user may make one"
            ),
        }
    }
}

impl std::error::Error for ForeignEntry {}

impl From<ForeignEntry> for io::Error {
    fn from(entry: ForeignEntry) -> Self {
        io::Error::new(io::ErrorKind::PermissionDenied, entry)
    }
}

/// Write permission for every user. Without the sticky bit, users may even replace the files of others.
const SHARED: u32 = 0o0002;
/// A user namespace shows all users without a number in it as this one, so two of them may differ.
const UNKNOWN_UID: u32 = 65_534;

/// Whether it belongs to the user of this process.
pub(super) fn is_ours(entry: &Stat) -> bool {
    entry.st_uid == geteuid().as_raw()
}

/// Whether another user made this entry in a shared directory, and not the directory's owner.
pub(super) fn is_foreign(directory: &Stat, entry: &Stat) -> bool {
    let is_of_owner = entry.st_uid == directory.st_uid && entry.st_uid != UNKNOWN_UID;
    let is_shared = directory.st_mode & SHARED == SHARED;
    is_shared && !is_ours(entry) && !is_of_owner
}
