//! Identifies the files that processes have mapped, by build id. Reads each file once.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use object::Object as _;
use object::read::ReadCache;
use rustix::fs::OFlags;

/// The ids read so far.
#[derive(Debug, Default)]
pub struct FileIds(HashMap<FileState, FileId>);

/// Identifies a file, also among files that had the same path at different times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The build id; empty if there is none, the path is no file, or reading failed.
    pub build_id: Vec<u8>,
    /// The file's state, if there is no build id.
    state: Option<FileState>,
}

/// Device, inode, seconds and nanoseconds of the latest change, and size. A file may be replaced during the
/// recording.
type FileState = (u64, u64, i64, i64, u64);

impl FileIds {
    /// The id of the file that the process sees at this path.
    pub fn of(&mut self, pid: u32, path: &[u8]) -> FileId {
        let is_file = path.first() == Some(&b'/');
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        match is_file.then(|| open_as_seen(pid, path)).flatten() {
            Some((file, state)) => self
                .0
                .entry(state)
                .or_insert_with(|| FileId::read(file, state))
                .clone(),
            None => FileId::default(),
        }
    }
}

impl FileId {
    /// Whether equal ids prove the same file.
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

/// Opens the file that the process sees at this path, or else the file that the recorder sees there.
fn open_as_seen(pid: u32, path: &Path) -> Option<(fs::File, FileState)> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let seen = Path::new(&format!("/proc/{pid}/root")).join(relative);
    open_plain(&seen).or_else(|| open_plain(path))
}

/// Opens a regular file without blocking: the program may have replaced the file, and opening a pipe would wait for
/// its other end.
fn open_plain(path: &Path) -> Option<(fs::File, FileState)> {
    let mut options = fs::File::options();
    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.read(true).open(path).ok()?;
    let of = file.metadata().ok()?;
    let state = (of.dev(), of.ino(), of.mtime(), of.mtime_nsec(), of.size());
    of.is_file().then_some((file, state))
}

/// Reads only the needed parts of the file.
fn build_id(file: fs::File) -> Option<Vec<u8>> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    Some(object.build_id().ok()??.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_at_a_modules_path_does_not_block() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("module.so");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        assert!(open_as_seen(std::process::id(), &pipe).is_none());
    }

    // LT-22
    #[test]
    fn a_replaced_file_has_another_id() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("module.so");
        let pid = std::process::id();
        let mut ids = FileIds::default();
        let itself = std::env::current_exe().expect("a program file");
        fs::write(&path, "no program").expect("a writable file");
        let text = ids.of(pid, path.as_os_str().as_bytes());
        assert_eq!((&text.build_id[..], text.is_proof()), (&[][..], true));
        fs::copy(&itself, &path).expect("a copy");
        let replaced = ids.of(pid, path.as_os_str().as_bytes());
        assert_ne!(replaced, text);
        let original = ids.of(pid, itself.as_os_str().as_bytes());
        assert_eq!(replaced.build_id, original.build_id);
    }
}
