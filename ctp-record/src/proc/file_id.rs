//! Which files processes run: build ids, each of which is read once.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use object::Object as _;
use object::read::ReadCache;
use rustix::fs::OFlags;

/// Those that were read.
#[derive(Debug, Default)]
pub struct FileIds(HashMap<FileState, FileId>);

/// What tells a file from others that had its path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Its build id, empty if it has none, is no file, or could not be read.
    pub build_id: Vec<u8>,
    /// Where it has none.
    state: Option<FileState>,
}

/// Device, inode, seconds and nanoseconds of the latest change, bytes: a file may be replaced by
/// another one while the recording goes on.
type FileState = (u64, u64, i64, i64, u64);

impl FileIds {
    /// Of the file that a process knows by this path.
    pub fn of(&mut self, pid: u32, path: &[u8]) -> FileId {
        let is_file = path.first() == Some(&b'/');
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        match is_file.then(|| open_as_seen(pid, path)).flatten() {
            Some((file, state)) => {
                let read = || FileId::read(file, state);
                self.0.entry(state).or_insert_with(read).clone()
            }
            None => FileId::default(),
        }
    }
}

impl FileId {
    /// Whether files with the same are the same.
    pub fn is_proof(&self) -> bool {
        !self.build_id.is_empty() || self.state.is_some()
    }

    fn read(file: fs::File, state: FileState) -> Self {
        let build_id = build_id(file).unwrap_or_default();
        FileId {
            state: build_id.is_empty().then_some(state),
            build_id,
        }
    }
}

/// As the process sees the file, else as we do.
fn open_as_seen(pid: u32, path: &Path) -> Option<(fs::File, FileState)> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let seen = Path::new(&format!("/proc/{pid}/root")).join(relative);
    open_plain(&seen).or_else(|| open_plain(path))
}

/// The program may have put anything there since: to open a pipe is to wait for its other end.
fn open_plain(path: &Path) -> Option<(fs::File, FileState)> {
    let mut options = fs::File::options();
    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.read(true).open(path).ok()?;
    let of = file.metadata().ok()?;
    let state = (of.dev(), of.ino(), of.mtime(), of.mtime_nsec(), of.size());
    of.is_file().then_some((file, state))
}

/// Only the parts that are needed are read.
fn build_id(file: fs::File) -> Option<Vec<u8>> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    Some(object.build_id().ok()??.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_where_a_module_was_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let pipe = directory.path().join("module.so");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe can be made");
        assert!(open_as_seen(std::process::id(), &pipe).is_none());
    }

    // LT-22
    #[test]
    fn a_file_that_replaced_another_is_another() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("module.so");
        let pid = std::process::id();
        let mut ids = FileIds::default();
        let itself = std::env::current_exe().expect("it runs");
        fs::write(&path, "no program").expect("can be written");
        let text = ids.of(pid, path.as_os_str().as_bytes());
        assert_eq!((&text.build_id[..], text.is_proof()), (&[][..], true));
        fs::copy(&itself, &path).expect("can be copied");
        let replaced = ids.of(pid, path.as_os_str().as_bytes());
        assert_ne!(replaced, text);
        let original = ids.of(pid, itself.as_os_str().as_bytes());
        assert_eq!(replaced.build_id, original.build_id);
    }
}
