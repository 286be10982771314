//! A file name in a directory that is held open, so that the directory that is used is the directory that was
//! checked.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ctp_trace::output::{self, Existing, ResolvedPath, WhenExisting};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// A file name in an open directory. The file may not exist yet.
#[derive(Debug)]
pub struct Location {
    /// Shared, because file descriptors may be scarce.
    directory: Rc<OwnedFd>,
    name: OsString,
    path: PathBuf,
}

/// What the path of an output leads to.
#[derive(Debug)]
pub enum OutputTarget {
    /// A regular file, which may not exist yet.
    File(Location),
    /// A device, a pipe or a socket, which is written to directly.
    Other(Existing),
}

/// Resolves a path without following links that another user planted.
///
/// # Errors
/// Those of the kernel, an error if the path is a directory, and [`ForeignEntry`](output::ForeignEntry).
pub fn resolve(path: &Path) -> io::Result<OutputTarget> {
    Ok(match output::resolve(path, WhenExisting::Replaced)? {
        ResolvedPath::File(found) => {
            OutputTarget::File(Location::new(found.directory, found.name, found.path))
        }
        ResolvedPath::Existing(existing) => OutputTarget::Other(existing),
    })
}

/// The mode of created files, independent of the umask: a trace reveals what a program does, and the names of
/// its files.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

impl Location {
    /// The file `name` in `directory`.
    pub fn new(directory: Rc<OwnedFd>, name: OsString, path: PathBuf) -> Self {
        Location {
            directory,
            name,
            path,
        }
    }

    /// The directory.
    pub fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// The name in the directory.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The whole path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The location with `suffix` appended to the name.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        let mut location = Location {
            directory: self.directory.clone(),
            name: self.name.clone(),
            path: self.path.clone(),
        };
        location.name.push(suffix);
        location.path.as_mut_os_string().push(suffix);
        location
    }

    /// Creates a new file for this user alone and opens it for reading and writing.
    ///
    /// # Errors
    /// Those of the kernel. Also if the name exists.
    pub fn create_new(&self) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.directory, &self.name, flags, PRIVATE)?;
        // Restores permissions that the umask took away. Some file systems have no permissions.
        let _ = fchmod(&file, PRIVATE);
        Ok(file.into())
    }

    /// Opens an existing regular file for reading. Follows no link and opens nothing else.
    pub fn open_file(&self) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.directory, &self.name, flags, Mode::empty()).ok()?;
        is_file(&fstat(&file).ok()?).then(|| file.into())
    }

    /// Whether this location leads to this file.
    pub fn holds(&self, file: &File) -> bool {
        let found = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let Ok(found) = found else {
            return false;
        };
        fstat(file).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (found.st_dev, found.st_ino))
    }

    /// Renames the file within the directory. An existing file of that name is replaced.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn rename_to(&self, to: &Location) -> io::Result<()> {
        Ok(renameat(
            &self.directory,
            &self.name,
            &to.directory,
            &to.name,
        )?)
    }

    /// Keeps an existing file as `NAME.old`.
    ///
    /// # Errors
    /// Those of the kernel, for example if the directory cannot be written.
    pub fn keep_previous(&self) -> io::Result<()> {
        let old = self.with_suffix(".old");
        match renameat(&self.directory, &self.name, &old.directory, &old.name) {
            Err(Errno::NOENT) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Removes the file.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.directory, &self.name, AtFlags::empty())?)
    }
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file()
}
