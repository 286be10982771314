//! Finds the place of an output file, without following what another user planted on the way.
//!
//! In a directory where every user may make files, such as /tmp, a symbolic link, a pipe or a file is
//! used only if it belongs to the user of this process or to the owner of the directory. Linux does
//! the same for links where `fs.protected_symlinks` is set; here the rule also holds for links in the
//! middle of a path. A *directory* of another user in such a place is entered, but of its entries
//! only those of the user of this process are used.
//!
//! Each entry is opened before it is judged, and used through the same descriptor, so that nothing
//! can take its place in between.

mod owner;
mod walk;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;

pub use owner::ForeignEntry;
use walk::End;

/// What becomes of a regular file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// A new file takes its name. In a directory that every user may write to, the earlier file may
    /// belong to any user.
    Replaced,
    /// It is emptied and written to.
    Overwritten,
}

/// What a path leads to.
#[derive(Debug)]
pub enum Found {
    /// The name for a file that does not exist yet, or is to be replaced.
    File(Name),
    /// A device, a pipe or a socket; also a regular file that is to be overwritten.
    Existing(Existing),
}

/// A name in a directory that is held open.
#[derive(Debug)]
pub struct Name {
    /// The directory, as an `O_PATH` descriptor. Shared, since descriptors may be few.
    pub directory: Rc<OwnedFd>,
    /// The name in the directory.
    pub name: OsString,
    /// Both, for messages.
    pub path: PathBuf,
}

/// Something that is written to as it is.
#[derive(Debug)]
pub struct Existing {
    directory: Rc<OwnedFd>,
    name: OsString,
    /// An `O_PATH` descriptor of what was judged.
    judged: OwnedFd,
    /// The name is a link of procfs, which leads to an open file rather than to a path.
    is_open_file: bool,
}

/// Where this path leads.
///
/// # Errors
/// Those of the kernel, a directory, and [`ForeignEntry`].
pub fn resolve(path: &Path, earlier: Earlier) -> io::Result<Found> {
    match walk::walk(path, earlier)? {
        End::Found(found) => Ok(found),
        End::Directory(_) => Err(Errno::ISDIR.into()),
    }
}

/// The directory that the last name of this path is in, as an `O_PATH` descriptor.
///
/// # Errors
/// Those of the kernel, what is no directory, and [`ForeignEntry`].
pub fn directory_of(path: &Path) -> io::Result<Rc<OwnedFd>> {
    let parent = path.parent().unwrap_or(path).join(".");
    match walk::walk(&parent, Earlier::Replaced)? {
        End::Directory(directory) => Ok(directory),
        End::Found(_) => Err(Errno::NOTDIR.into()),
    }
}

const WRITE: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

impl Name {
    /// Makes a new file, with the rights that the umask leaves, and opens it for writing.
    ///
    /// # Errors
    /// Those of the kernel; there is something of this name by now.
    pub fn create(&self) -> io::Result<File> {
        let flags = WRITE | OFlags::CREATE | OFlags::EXCL;
        let file = openat(&self.directory, &self.name, flags, Mode::from(0o666))?;
        Ok(file.into())
    }
}

impl Existing {
    /// Opens it for writing only, so that a pipe without a reader is noticed.
    ///
    /// # Errors
    /// Those of the kernel; something else has taken its place.
    pub fn open(&self) -> io::Result<File> {
        let follow = if self.is_open_file {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        let file = openat(&self.directory, &self.name, WRITE | follow, Mode::empty())?;
        if identity(&fstat(&file)?) != identity(&fstat(&self.judged)?) {
            return Err(io::Error::other("it was replaced while it was opened"));
        }
        Ok(file.into())
    }

    /// Whether it is a regular file.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn is_file(&self) -> io::Result<bool> {
        Ok(FileType::from_raw_mode(fstat(&self.judged)?.st_mode).is_file())
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}
