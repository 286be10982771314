//! Finds where an output file belongs, without following links or files that another user planted.
//!
//! In a directory where every user may create files, such as /tmp, a symbolic link, a pipe or a file is
//! used only if it belongs to the user of this process or to the owner of the directory. Linux applies
//! the same rule to links if `fs.protected_symlinks` is set; here it also holds for links in the middle
//! of a path. A *directory* of another user in such a place is entered, but only entries that belong to
//! the user of this process are used there.
//!
//! Each entry is opened before it is checked, and used through the same descriptor, so that nothing can
//! replace it in between.

mod owner;
mod walk;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, unlinkat};
use rustix::io::Errno;

pub use owner::ForeignEntry;
use walk::End;

/// What happens to an existing regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenExisting {
    /// A new file takes its name. In a directory that every user may write to, the existing file may
    /// belong to any user.
    Replaced,
    /// The file is truncated and written to.
    Overwritten,
}

/// The destination of a path.
#[derive(Debug)]
pub enum ResolvedPath {
    /// The name of a file that does not exist yet or will be replaced.
    File(Name),
    /// A device, a pipe or a socket; also a regular file that will be overwritten.
    Existing(Existing),
}

/// A name in a directory that is held open.
#[derive(Debug)]
pub struct Name {
    /// The directory, as an `O_PATH` descriptor. Shared, since descriptors may be few.
    pub directory: Rc<OwnedFd>,
    /// The name in the directory.
    pub name: OsString,
    /// The path of the directory and the name, for messages.
    pub path: PathBuf,
}

/// An existing file that is written to in place.
#[derive(Debug)]
pub struct Existing {
    directory: Rc<OwnedFd>,
    name: OsString,
    /// An `O_PATH` descriptor of the file that was checked.
    checked: OwnedFd,
    /// The name is a procfs link, which leads to an open file rather than to a path.
    is_open_file: bool,
}

/// Finds the destination of a path.
///
/// # Errors
/// Those of the kernel, `EISDIR` for a directory, and [`ForeignEntry`].
pub fn resolve(path: &Path, when_existing: WhenExisting) -> io::Result<ResolvedPath> {
    match walk::walk(path, when_existing)? {
        End::Destination(found) => Ok(found),
        End::Directory(_) => Err(Errno::ISDIR.into()),
    }
}

/// The parent directory of this path, as an `O_PATH` descriptor.
///
/// # Errors
/// Those of the kernel, `ENOTDIR`, and [`ForeignEntry`].
pub fn directory_of(path: &Path) -> io::Result<Rc<OwnedFd>> {
    let parent = path.parent().unwrap_or(path).join(".");
    match walk::walk(&parent, WhenExisting::Replaced)? {
        End::Directory(directory) => Ok(directory),
        End::Destination(_) => Err(Errno::NOTDIR.into()),
    }
}

const WRITE: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

impl Name {
    /// Creates a new file, with the permissions that the umask leaves, and opens it for writing.
    ///
    /// # Errors
    /// Those of the kernel; the name may exist by now.
    pub fn create(&self) -> io::Result<File> {
        let flags = WRITE | OFlags::CREATE | OFlags::EXCL;
        let file = openat(&self.directory, &self.name, flags, Mode::from(0o666))?;
        Ok(file.into())
    }

    /// Removes the file of this name.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.directory, &self.name, AtFlags::empty())?)
    }
}

impl Existing {
    /// Opens the file for writing only, so that a pipe without a reader is noticed.
    ///
    /// # Errors
    /// Those of the kernel; an error if another file has taken its place.
    pub fn open(&self) -> io::Result<File> {
        let follow = if self.is_open_file {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        let file = openat(&self.directory, &self.name, WRITE | follow, Mode::empty())?;
        if identity(&fstat(&file)?) != identity(&fstat(&self.checked)?) {
            return Err(io::Error::other(
                "another file replaced it while it was opened",
            ));
        }
        Ok(file.into())
    }

    /// Whether this is a regular file.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn is_file(&self) -> io::Result<bool> {
        Ok(FileType::from_raw_mode(fstat(&self.checked)?.st_mode).is_file())
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}
