//! A name in a directory that is held open, so that the directory stays the one that was checked.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ctp_trace::output::{self, Earlier, Existing, Found};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// Where a file is or will be.
#[derive(Debug)]
pub struct Location {
    /// Shared, since descriptors may be few.
    directory: Rc<OwnedFd>,
    name: OsString,
    path: PathBuf,
}

/// What a path of an output leads to.
#[derive(Debug)]
pub enum Target {
    /// The place of a regular file, whether there is one or not.
    File(Location),
    /// A device, a pipe or a socket, which is written to as it is.
    Other(Existing),
}

/// Where this path leads, without following what another user planted.
///
/// # Errors
/// Those of the kernel, a directory, and [`ForeignEntry`](output::ForeignEntry).
pub fn resolve(path: &Path) -> io::Result<Target> {
    Ok(match output::resolve(path, Earlier::Replaced)? {
        Found::File(found) => Target::File(Location::new(found.directory, found.name, found.path)),
        Found::Existing(existing) => Target::Other(existing),
    })
}

/// Whatever the umask says: a trace names what a program does, and its files.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

impl Location {
    /// This name in this directory.
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

    /// The name in it.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Both, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name with this behind it, in the same directory.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        let append = |text: &OsStr| {
            let mut text = text.to_owned();
            text.push(suffix);
            text
        };
        Location {
            directory: self.directory.clone(),
            name: append(&self.name),
            path: append(self.path.as_os_str()).into(),
        }
    }

    /// Makes a new file there, for this user alone, and opens it for reading and writing.
    ///
    /// # Errors
    /// Those of the kernel; there is something already.
    pub fn create_new(&self) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.directory, &self.name, flags, PRIVATE)?;
        // The umask has only taken rights away, and some file systems have none to give back.
        let _ = fchmod(&file, PRIVATE);
        Ok(file.into())
    }

    /// Opens a regular file that is there for reading, and nothing else, not even what a link leads to.
    pub fn open_file(&self) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.directory, &self.name, flags, Mode::empty()).ok()?;
        is_file(&fstat(&file).ok()?).then(|| file.into())
    }

    /// Is this file there?
    pub fn holds(&self, file: &File) -> bool {
        let found = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        found.is_ok_and(|found| fstat(file).is_ok_and(|it| identity(it) == identity(found)))
    }

    /// Gives what is there another name in the same directory; what has that name is replaced.
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

    /// Keeps what is there as `NAME.old`, if there is anything.
    ///
    /// # Errors
    /// Those of the kernel: the directory cannot be written, say.
    pub fn keep_previous(&self) -> io::Result<()> {
        let old = self.with_suffix(".old");
        match renameat(&self.directory, &self.name, &old.directory, &old.name) {
            Err(Errno::NOENT) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Removes it.
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
