//! Creates files to write, but not where another user leads.
//!
//! In a directory where every user may make files, such as /tmp, another user can have put a symbolic
//! link, a pipe or a file in the place of the output. Such an entry is used only if it belongs to
//! the user of this process or to the owner of the directory, which is also the rule of the recorder.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, ftruncate, openat,
    readlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;
/// Opens an entry itself, without an effect on it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const WRITE: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Creates this file, or empties it.
///
/// # Errors
/// Those of the kernel, and `PermissionDenied` where another user may have planted what is there.
pub fn create(path: &Path) -> io::Result<File> {
    let mut walk = Walk::to(path.as_os_str())?;
    for _ in 0..=MOST_LINKS {
        match walk.advance()? {
            Step::Link(target) => walk.redirect(&target)?,
            Step::File(file) => return Ok(file),
        }
    }
    Err(Errno::LOOP.into())
}

/// A way through the directories, one name at a time.
struct Walk {
    directory: OwnedFd,
    names: VecDeque<OsString>,
}

enum Step {
    /// The way goes on there.
    Link(OsString),
    File(File),
}

impl Walk {
    fn to(path: &OsStr) -> io::Result<Self> {
        // Where the working directory may not be entered, absolute paths still lead somewhere.
        let start = if Path::new(path).is_absolute() {
            "/"
        } else {
            "."
        };
        let mut walk = Walk {
            directory: openat(CWD, start, LOOK | OFlags::DIRECTORY, Mode::empty())?,
            names: VecDeque::new(),
        };
        walk.redirect(path)?;
        Ok(walk)
    }

    /// What comes next is this path, as seen from the directory.
    fn redirect(&mut self, target: &OsStr) -> io::Result<()> {
        for component in Path::new(target).components().rev() {
            match component {
                Component::RootDir => {
                    self.directory = openat(CWD, "/", LOOK | OFlags::DIRECTORY, Mode::empty())?;
                }
                Component::ParentDir | Component::Normal(_) => {
                    self.names.push_front(component.as_os_str().to_owned());
                }
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Ok(())
    }

    /// Goes into directories up to a link or the file.
    fn advance(&mut self) -> io::Result<Step> {
        while let Some(name) = self.names.pop_front() {
            let entry = match openat(
                &self.directory,
                &name,
                LOOK | OFlags::NOFOLLOW,
                Mode::empty(),
            ) {
                Err(Errno::NOENT) if self.names.is_empty() => return self.new_file(&name),
                entry => entry?,
            };
            let found = fstat(&entry)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => self.directory = entry,
                FileType::Symlink if self.is_in_proc()? => return self.open_as_proc_says(&name),
                FileType::Symlink => {
                    check_owner(&fstat(&self.directory)?, &found, "symbolic link")?;
                    let target = readlinkat(&entry, "", Vec::new())?.into_bytes();
                    return Ok(Step::Link(OsString::from_vec(target)));
                }
                _ if !self.names.is_empty() => return Err(Errno::NOTDIR.into()),
                _ => {
                    check_owner(&fstat(&self.directory)?, &found, "file or pipe")?;
                    return self.existing_file(&name, &found);
                }
            }
        }
        Err(Errno::ISDIR.into())
    }

    fn new_file(&self, name: &OsStr) -> io::Result<Step> {
        let flags = WRITE | OFlags::CREATE | OFlags::EXCL;
        let file = openat(&self.directory, name, flags, Mode::from(0o666))?;
        Ok(Step::File(File::from(file)))
    }

    /// The file that was judged, and no other that has taken its place since.
    fn existing_file(&self, name: &OsStr, judged: &Stat) -> io::Result<Step> {
        let file = openat(
            &self.directory,
            name,
            WRITE | OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
        let opened = fstat(&file)?;
        if (opened.st_dev, opened.st_ino) != (judged.st_dev, judged.st_ino) {
            return Err(io::Error::other("it was replaced while it was opened"));
        }
        if FileType::from_raw_mode(opened.st_mode) == FileType::RegularFile {
            ftruncate(&file, 0)?;
        }
        Ok(Step::File(File::from(file)))
    }

    /// Links such as `/proc/self/fd/1` name an open file rather than a path, and only the kernel makes them.
    fn is_in_proc(&self) -> io::Result<bool> {
        Ok(fstatfs(&self.directory)?.f_type == PROC_SUPER_MAGIC)
    }

    fn open_as_proc_says(&mut self, name: &OsStr) -> io::Result<Step> {
        if !self.names.is_empty() {
            self.directory = openat(
                &self.directory,
                name,
                LOOK | OFlags::DIRECTORY,
                Mode::empty(),
            )?;
            return self.advance();
        }
        let file = openat(&self.directory, name, WRITE | OFlags::TRUNC, Mode::empty())?;
        Ok(Step::File(File::from(file)))
    }
}

/// In which every user may make files; with the sticky bit, or without, where they may even replace those
/// of others.
const SHARED: u32 = 0o0002;
/// The number of all users that a user namespace does not know, so that two of them may differ.
const UNKNOWN_UID: u32 = 65_534;

fn check_owner(directory: &Stat, entry: &Stat, kind: &str) -> io::Result<()> {
    let is_shared = directory.st_mode & SHARED == SHARED;
    let is_ours = entry.st_uid == geteuid().as_raw();
    let is_its_owners = entry.st_uid == directory.st_uid && entry.st_uid != UNKNOWN_UID;
    if !is_shared || is_ours || is_its_owners {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "there is a {kind} of another user (uid {}), in a directory where every user may make one",
            entry.st_uid
        ),
    ))
}
