//! Finds the directory and the name that a path leads to, without following what another user has
//! planted on the way.
//!
//! In a directory where every user may make files, such as /tmp, a symbolic link is followed only
//! if it belongs to the user of this process or to the owner of the directory. That is what Linux
//! does where `fs.protected_symlinks` is set; here it also holds for links in the middle of a
//! path. Each link is opened before it is judged, and read through the same descriptor, so that
//! nothing can take its place in between.

use std::collections::VecDeque;
use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, openat, readlinkat,
};
use rustix::io::Errno;

use super::foreign::{ForeignEntry, is_foreign};
use super::location::Location;

/// What a path leads to.
#[derive(Debug)]
pub enum Found {
    /// A regular file, or the name for one that does not exist yet.
    File(Location),
    /// A device, a pipe or a socket, as an `O_PATH` descriptor.
    Other(OwnedFd),
}

/// What ends a walk.
enum End {
    Found(Found),
    Directory(Rc<OwnedFd>),
}

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;
/// Opens an entry itself, whatever it is, without an effect on it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Where this path leads.
///
/// # Errors
/// Those of the kernel, a directory, and [`ForeignEntry`].
pub fn resolve(path: &Path) -> io::Result<Found> {
    match walk(path)? {
        End::Found(found) => Ok(found),
        End::Directory(_) => Err(Errno::ISDIR.into()),
    }
}

/// The directory that the last name of this path is in, as an `O_PATH` descriptor.
///
/// # Errors
/// Those of the kernel, what is no directory, and [`ForeignEntry`].
pub fn directory_of(path: &Path) -> io::Result<Rc<OwnedFd>> {
    match walk(&path.parent().unwrap_or(path).join("."))? {
        End::Directory(directory) => Ok(directory),
        End::Found(_) => Err(Errno::NOTDIR.into()),
    }
}

fn walk(path: &Path) -> io::Result<End> {
    let mut walk = Walk::to(path)?;
    for _ in 0..=MOST_LINKS {
        match walk.advance()? {
            Step::Link(target) => walk.redirect(&target)?,
            Step::End(end) => return Ok(end),
        }
    }
    Err(Errno::LOOP.into())
}

fn open_directory(path: &str) -> rustix::io::Result<Rc<OwnedFd>> {
    openat(CWD, path, LOOK | OFlags::DIRECTORY, Mode::empty()).map(Rc::new)
}

/// A way through the directories.
struct Walk {
    directory: Rc<OwnedFd>,
    /// How the directory is called in messages.
    path: PathBuf,
    /// What is still to be gone through.
    names: VecDeque<OsString>,
}

enum Step {
    /// The way goes on there.
    Link(OsString),
    End(End),
}

impl Walk {
    fn to(path: &Path) -> io::Result<Self> {
        // Where the working directory may not be entered, absolute paths still lead somewhere.
        let start = if path.is_absolute() { "/" } else { "." };
        let mut walk = Walk {
            directory: open_directory(start)?,
            path: PathBuf::new(),
            names: VecDeque::new(),
        };
        walk.redirect(path.as_os_str())?;
        Ok(walk)
    }

    /// What comes next is this path, as seen from the directory.
    fn redirect(&mut self, target: &OsStr) -> io::Result<()> {
        if target.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let is_last = self.names.is_empty();
        for component in Path::new(target).components().rev() {
            match component {
                Component::RootDir => {
                    self.directory = open_directory("/")?;
                    self.path = PathBuf::from("/");
                }
                Component::CurDir | Component::Prefix(_) => {}
                Component::ParentDir | Component::Normal(_) => {
                    self.names.push_front(component.as_os_str().to_owned());
                }
            }
        }
        // A name with a slash behind it is a directory's, even if there is none.
        if is_last && target.as_bytes().ends_with(b"/") {
            self.names.push_back(".".into());
        }
        Ok(())
    }

    /// Goes on to the next link, or to the end of the way.
    fn advance(&mut self) -> io::Result<Step> {
        while let Some(name) = self.names.pop_front() {
            let is_last = self.names.is_empty();
            let flags = LOOK | OFlags::NOFOLLOW;
            let entry = match openat(&self.directory, &name, flags, Mode::empty()) {
                Err(Errno::NOENT) if is_last => return Ok(self.file(name)),
                entry => self.seen_through(entry?, &name)?,
            };
            let stat = fstat(&entry)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => return self.link(&entry, &stat, &name),
                FileType::Directory => self.enter(entry, &name),
                _ if !is_last => return Err(Errno::NOTDIR.into()),
                FileType::RegularFile => return Ok(self.file(name)),
                _ => return self.other(entry, &stat, &name),
            }
        }
        Ok(Step::End(End::Directory(self.directory.clone())))
    }

    fn file(&self, name: OsString) -> Step {
        let path = self.path.join(&name);
        let location = Location::new(self.directory.clone(), name, path);
        Step::End(End::Found(Found::File(location)))
    }

    /// Opened as a directory, so that one which is mounted on demand is mounted.
    fn enter(&mut self, seen: OwnedFd, name: &OsStr) {
        let flags = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let directory = openat(&self.directory, name, flags, Mode::empty());
        self.directory = Rc::new(directory.unwrap_or(seen));
        self.path.push(name);
    }

    /// What the links of procfs lead to may have no path, as a pipe has none; and no user can plant
    /// any there. Only a regular file is gone to by its path, since another is put in its place.
    fn seen_through(&self, entry: OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
        let is_link = FileType::from_raw_mode(fstat(&entry)?.st_mode).is_symlink();
        if !is_link || fstatfs(&self.directory)?.f_type != PROC_SUPER_MAGIC {
            return Ok(entry);
        }
        let behind = openat(&self.directory, name, LOOK, Mode::empty())?;
        let is_file = FileType::from_raw_mode(fstat(&behind)?.st_mode).is_file();
        Ok(if is_file { entry } else { behind })
    }

    fn link(&self, entry: &OwnedFd, stat: &Stat, name: &OsStr) -> io::Result<Step> {
        self.check_owner(stat, name, "symbolic link")?;
        let itself: &CStr = c"";
        let target = readlinkat(entry, itself, Vec::new())?;
        Ok(Step::Link(OsString::from_vec(target.into_bytes())))
    }

    /// A user that plants a pipe wants to read what is written into it.
    fn other(&self, entry: OwnedFd, stat: &Stat, name: &OsStr) -> io::Result<Step> {
        self.check_owner(stat, name, "pipe, socket or device")?;
        Ok(Step::End(End::Found(Found::Other(entry))))
    }

    fn check_owner(&self, entry: &Stat, name: &OsStr, kind: &'static str) -> io::Result<()> {
        let directory = fstat(&self.directory)?;
        if !is_foreign(&directory, entry) {
            return Ok(());
        }
        let (path, owner) = (self.path.join(name), entry.st_uid);
        Err(ForeignEntry { path, owner, kind }.into())
    }
}
