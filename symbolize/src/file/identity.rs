//! Whether two opened files are the same file, with the same content.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Changes when another file takes the place of a file, or when the content changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    /// When the content was changed, in seconds and nanoseconds.
    pub(crate) content_changed: (i64, i64),
    /// When the inode was changed.
    pub(crate) inode_changed: (i64, i64),
}

impl Identity {
    pub(crate) fn of(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.size(),
            content_changed: (file.mtime(), file.mtime_nsec()),
            inode_changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}
