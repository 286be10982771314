//! The owners of directory entries, and whether an entry may be used.

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::Stat;
use rustix::process::geteuid;

use crate::escape;

/// A directory entry that must not be followed or opened.
#[derive(Debug)]
pub struct ForeignEntry {
    /// The path of the entry.
    pub path: PathBuf,
    /// The user that owns the entry.
    pub owner: u32,
    /// The type of the entry.
    pub kind: &'static str,
    /// The other user that made the directory of this entry, if that is why the entry is refused.
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
/// A user namespace shows every user without a mapping as this user, so two files with this owner may
/// belong to different users.
const UNKNOWN_UID: u32 = 65_534;

/// Whether the entry belongs to the user of this process.
pub(super) fn is_ours(entry: &Stat) -> bool {
    entry.st_uid == geteuid().as_raw()
}

/// Whether the entry is in a shared directory and was made by another user than the directory's owner.
pub(super) fn is_foreign(directory: &Stat, entry: &Stat) -> bool {
    let is_of_owner = entry.st_uid == directory.st_uid && entry.st_uid != UNKNOWN_UID;
    let is_shared = directory.st_mode & SHARED == SHARED;
    is_shared && !is_ours(entry) && !is_of_owner
}
