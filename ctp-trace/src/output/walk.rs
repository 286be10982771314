//! Walks along a path, one name at a time.

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

use super::owner::{ForeignEntry, is_foreign, is_ours};
use super::{Existing, Name, ResolvedPath, WhenExisting, identity};

/// The result of a walk.
pub(super) enum End {
    Destination(ResolvedPath),
    Directory(Rc<OwnedFd>),
}

/// Maximum number of links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;
/// The maximum number of parents that are visited: more than a path can have.
const MAX_PARENTS: usize = 4096;
/// Opens the entry itself, whatever its type, without side effects.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

pub(super) fn walk(path: &Path, earlier: WhenExisting) -> io::Result<End> {
    let mut walk = Walk::to(path, earlier)?;
    for _ in 0..=MAX_LINKS {
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

struct Walk {
    directory: Rc<OwnedFd>,
    /// The other user that made the directory, or a directory above it, inside a shared directory.
    planted_by: Option<u32>,
    /// The directory as shown in messages.
    path: PathBuf,
    /// The remaining names.
    names: VecDeque<OsString>,
    earlier: WhenExisting,
}

enum Step {
    /// The walk continues at this target.
    Link(OsString),
    End(End),
}

impl Walk {
    fn to(path: &Path, earlier: WhenExisting) -> io::Result<Self> {
        // If the working directory may not be searched, absolute paths can still be resolved.
        let start = if path.is_absolute() { "/" } else { "." };
        let directory = open_directory(start)?;
        let mut walk = Walk {
            planted_by: planter_of(&directory)?,
            directory,
            path: PathBuf::new(),
            names: VecDeque::new(),
            earlier,
        };
        walk.redirect(path.as_os_str())?;
        Ok(walk)
    }

    /// Puts the components of this path, relative to the current directory, before the remaining names.
    fn redirect(&mut self, target: &OsStr) -> io::Result<()> {
        if target.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let is_last = self.names.is_empty();
        for component in Path::new(target).components().rev() {
            match component {
                Component::RootDir => {
                    self.directory = open_directory("/")?;
                    self.planted_by = None;
                    self.path = PathBuf::from("/");
                }
                Component::CurDir | Component::Prefix(_) => {}
                Component::ParentDir | Component::Normal(_) => {
                    self.names.push_front(component.as_os_str().to_owned());
                }
            }
        }
        // A trailing slash requires a directory, even if there is none.
        if is_last && target.as_bytes().ends_with(b"/") {
            self.names.push_back(".".into());
        }
        Ok(())
    }

    /// Advances to the next link, or to the end of the path.
    fn advance(&mut self) -> io::Result<Step> {
        while let Some(name) = self.names.pop_front() {
            let is_last = self.names.is_empty();
            let flags = LOOK | OFlags::NOFOLLOW;
            let entry = match openat(&self.directory, &name, flags, Mode::empty()) {
                Err(Errno::NOENT) if is_last => return Ok(self.file(name)),
                entry => entry?,
            };
            if let Some(behind) = self.behind_proc_link(&entry, &name)? {
                match FileType::from_raw_mode(fstat(&behind)?.st_mode) {
                    FileType::Directory => self.enter(behind, &name)?,
                    _ if !is_last => return Err(Errno::NOTDIR.into()),
                    _ => return Ok(self.existing(behind, name, true)),
                }
                continue;
            }
            let stat = fstat(&entry)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => return self.link(&entry, &stat, &name),
                FileType::Directory => self.enter(entry, &name)?,
                _ if !is_last => return Err(Errno::NOTDIR.into()),
                FileType::RegularFile => return self.earlier_file(entry, &stat, name),
                _ => {
                    self.check_owner(&stat, &name, "pipe, socket or device")?;
                    return Ok(self.existing(entry, name, false));
                }
            }
        }
        Ok(Step::End(End::Directory(self.directory.clone())))
    }

    fn file(&self, name: OsString) -> Step {
        Step::End(End::Destination(ResolvedPath::File(Name {
            directory: self.directory.clone(),
            path: self.path.join(&name),
            name,
        })))
    }

    fn existing(&self, checked: OwnedFd, name: OsString, is_open_file: bool) -> Step {
        Step::End(End::Destination(ResolvedPath::Existing(Existing {
            directory: self.directory.clone(),
            name,
            checked,
            is_open_file,
        })))
    }

    /// A file that will be replaced is not written to. So its owner matters only in a directory that
    /// another user planted.
    fn earlier_file(&self, entry: OwnedFd, stat: &Stat, name: OsString) -> io::Result<Step> {
        let is_replaced = self.earlier == WhenExisting::Replaced;
        if !is_replaced || self.planted_by.is_some() {
            self.check_owner(stat, &name, "file")?;
        }
        Ok(if is_replaced {
            self.file(name)
        } else {
            self.existing(entry, name, false)
        })
    }

    /// Opens the entry as a directory, so that the kernel mounts automounted directories.
    fn enter(&mut self, seen: OwnedFd, name: &OsStr) -> io::Result<()> {
        let flags = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let directory = openat(&self.directory, name, flags, Mode::empty()).unwrap_or(seen);
        let directory = Rc::new(directory);
        self.planted_by = self.planter(&directory, name)?;
        self.directory = directory;
        self.path.push(name);
        Ok(())
    }

    /// The other user that controls the rest of the path inside this directory. A directory that another
    /// user planted may lead anywhere, also with `..`, until the walk reaches a directory of this user.
    fn planter(&self, entered: &Rc<OwnedFd>, name: &OsStr) -> io::Result<Option<u32>> {
        let stat = fstat(entered)?;
        if is_ours(&stat) {
            return Ok(None);
        }
        if self.planted_by.is_some() {
            return Ok(self.planted_by);
        }
        if name == ".." {
            return planter_of(entered);
        }
        let is_planted = is_foreign(&fstat(&self.directory)?, &stat);
        Ok(is_planted.then_some(stat.st_uid))
    }

    /// The target of a procfs link, which may have no path, as for a pipe. No user can plant such a
    /// link. A regular file that will be replaced must be reached by its path instead.
    fn behind_proc_link(&self, entry: &OwnedFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
        let is_link = FileType::from_raw_mode(fstat(entry)?.st_mode).is_symlink();
        if !is_link || fstatfs(&self.directory)?.f_type != PROC_SUPER_MAGIC {
            return Ok(None);
        }
        let behind = openat(&self.directory, name, LOOK, Mode::empty())?;
        let is_file = FileType::from_raw_mode(fstat(&behind)?.st_mode).is_file();
        let is_by_path = is_file && self.earlier == WhenExisting::Replaced;
        Ok((!is_by_path).then_some(behind))
    }

    fn link(&self, entry: &OwnedFd, stat: &Stat, name: &OsStr) -> io::Result<Step> {
        self.check_owner(stat, name, "symbolic link")?;
        let itself: &CStr = c"";
        let target = readlinkat(entry, itself, Vec::new())?;
        Ok(Step::Link(OsString::from_vec(target.into_bytes())))
    }

    fn check_owner(&self, entry: &Stat, name: &OsStr, kind: &'static str) -> io::Result<()> {
        let is_refused = match self.planted_by {
            Some(_) => !is_ours(entry),
            None => is_foreign(&fstat(&self.directory)?, entry),
        };
        if !is_refused {
            return Ok(());
        }
        Err(ForeignEntry {
            path: self.path.join(name),
            owner: entry.st_uid,
            kind,
            planted_by: self.planted_by,
        }
        .into())
    }
}

/// The other user that made this directory, or a directory above it, inside a shared directory. The
/// working directory may be in such a place too. Directories above an unsearchable directory cannot be
/// examined.
fn planter_of(directory: &Rc<OwnedFd>) -> io::Result<Option<u32>> {
    let mut directory = directory.clone();
    let mut stat = fstat(&directory)?;
    for _ in 0..MAX_PARENTS {
        if is_ours(&stat) {
            break;
        }
        let flags = LOOK | OFlags::DIRECTORY;
        let Ok(parent) = openat(&directory, "..", flags, Mode::empty()) else {
            break;
        };
        let above = fstat(&parent)?;
        if identity(&above) == identity(&stat) {
            break;
        }
        if is_foreign(&above, &stat) {
            return Ok(Some(stat.st_uid));
        }
        (directory, stat) = (Rc::new(parent), above);
    }
    Ok(None)
}
