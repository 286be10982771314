//! Removes what killed recorders left behind: socket directories and unfinished files.
//!
//! Only what a recorder of this user created is removed, and only after that recorder has ended.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use ctp_trace::format::MAGIC;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

use crate::connect::rendezvous::{CONTROL, SOCK};
use crate::output::Location;
use crate::proc::process;

/// The mode of a directory that only its owner can enter.
const PRIVATE_DIRECTORY: u32 = 0o040_700;

/// Removes the directories `ctp-PID-N` of ended processes in `parent`, with their sockets.
pub fn remove_sockets(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if has_ended_owner(&name, "ctp-") {
            // Best effort: what cannot be removed stays.
            let _ = remove_socket(parent, &name);
        }
    }
}

/// Locks an unfinished file while it is open, so that no other recorder removes it. The process id in its name is not
/// enough: it means nothing in another pid namespace. On a file system without locks, only the id protects the file.
pub fn claim(draft: &File) {
    let _ = flock(draft, FlockOperation::NonBlockingLockExclusive);
}

/// Removes the drafts `FILE.new-PID-N` of ended processes beside `file`.
pub fn remove_drafts(file: &Location) {
    let prefix = format!("{}.new-", file.name().to_string_lossy());
    for name in names_in(file.directory()).unwrap_or_default() {
        let name = OsStr::from_bytes(name.as_bytes());
        if has_ended_owner(name, &prefix) && is_left_draft(file.directory(), name) {
            let _ = unlinkat(file.directory(), name, AtFlags::empty());
        }
    }
}

/// Whether this is an empty file or a trace, of this user and not [claimed](claim).
fn is_left_draft(directory: impl AsFd, name: &OsStr) -> bool {
    let file = file_of_ours(directory, name);
    file.is_some_and(|file| begins_as_a_trace(&file) && is_free(&file))
}

/// Whether this is a trace of this user that no recorder is writing.
pub fn is_trace_of_ours(directory: impl AsFd, name: &OsStr) -> bool {
    file_of_ours(directory, name).is_some_and(|file| {
        let is_empty = file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        !is_empty && begins_as_a_trace(&file) && is_free(&file)
    })
}

fn is_free(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Opens a regular file of this user, without following a link.
fn file_of_ours(directory: impl AsFd, name: &OsStr) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty()).map(File::from);
    file.ok().filter(|file| {
        fstat(file).is_ok_and(|stat| {
            let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
            is_file && stat.st_uid == geteuid().as_raw()
        })
    })
}

fn begins_as_a_trace(file: &File) -> bool {
    let mut beginning = Vec::new();
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut beginning);
    read.is_ok() && MAGIC.starts_with(&beginning)
}

/// Whether the name is `PREFIX`, the id of a process that does not exist, and possibly `-N`.
fn has_ended_owner(name: &OsStr, prefix: &str) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else {
        return false;
    };
    let (pid, number) = rest.split_once('-').unwrap_or((rest, "0"));
    let are_numbers = [pid, number]
        .iter()
        .all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    are_numbers && pid.parse().is_ok_and(has_exited)
}

/// Whether no process has this id. False for numbers that are no process ids, such as dates.
fn has_exited(pid: i32) -> bool {
    let pid = Pid::from_raw(pid).filter(|_| pid < PIDS);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// Process ids are below this limit (`PID_MAX_LIMIT` of the kernel).
const PIDS: i32 = 4_194_304;

/// Removes a directory with the sockets of a recorder, if this user created the directory, nothing else is in it, and
/// no process listens there. Works on an open directory, so that no other directory can be put in its place meanwhile.
fn remove_socket(parent: &Path, name: &OsStr) -> rustix::io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(CWD, parent.join(name), flags, Mode::empty())?;
    let stat = fstat(&directory)?;
    let is_ours = stat.st_uid == geteuid().as_raw() && stat.st_mode == PRIVATE_DIRECTORY;
    if !is_ours {
        return Ok(());
    }
    let names = names_in(&directory)?;
    let known = [SOCK, CONTROL].map(str::as_bytes);
    let are_known = names.iter().all(|name| known.contains(&name.to_bytes()));
    let has_listener = names.iter().any(|name| name.to_bytes() == SOCK.as_bytes());
    if !are_known || (has_listener && !is_dead_socket(&directory)) {
        return Ok(());
    }
    for name in &names {
        unlinkat(&directory, name, AtFlags::empty())?;
    }
    unlinkat(CWD, parent.join(name), AtFlags::REMOVEDIR)
}

/// The names in this directory.
///
/// # Errors
/// Those of the kernel.
pub fn names_in(directory: impl AsFd) -> rustix::io::Result<Vec<CString>> {
    // Opened again, because the given descriptor may be `O_PATH`.
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(directory, ".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        names.push(entry?.file_name().to_owned());
    }
    names.retain(|name| !matches!(name.to_bytes(), b"." | b".."));
    Ok(names)
}

/// Whether no process listens at the socket. A listener may be a recorder in another pid namespace, with another
/// process id there. Connecting does not disturb a listener, because the socket has another type than the
/// listener's. The error shows whether there is a listener.
fn is_dead_socket(directory: &OwnedFd) -> bool {
    let path = process::own_descriptor(directory).join("sock");
    let is_socket =
        fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_socket());
    let requested = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    is_socket && requested.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{OutputTarget, resolve};
    use std::io::Write as _;
    use std::process::{Command, id};

    /// The id of a process that has just ended.
    fn dead_pid() -> u32 {
        let mut child = Command::new("true").spawn().expect("starts");
        child.wait().expect("ends");
        child.id()
    }

    #[test]
    fn only_names_of_recorders_are_leftovers() {
        let (dead, alive) = (dead_pid(), id());
        let is_left = |name: &str| has_ended_owner(OsStr::new(name), "ctp-");
        assert!(is_left(&format!("ctp-{dead}-0")));
        assert!(is_left(&format!("ctp-{dead}-17")));
        assert!(!is_left(&format!("ctp-{dead}-x")));
        assert!(!is_left(&format!("ctp-{dead}-0-1")));
        assert!(!is_left(&format!("ctp-{alive}-0")));
        for name in ["ctp-", "ctp-x-0", "ctp--0", "ctp-0-0", "ctp-20261123"] {
            assert!(!is_left(name), "{name}");
        }
    }

    #[test]
    fn only_traces_without_a_writer_are_removed() {
        let directory = std::env::temp_dir().join(format!("ctp-drafts-{}", id()));
        fs::create_dir(&directory).expect("a new file");
        let dead = dead_pid();
        let write = |number: u32, bytes: &[u8]| {
            let path = directory.join(format!("trace.new-{dead}-{number}"));
            let mut file = File::create_new(&path).expect("a new file");
            file.write_all(bytes).expect("a writable file");
            file
        };
        write(0, &[MAGIC.as_slice(), b"some blocks"].concat());
        write(1, b"");
        write(2, b"other data");
        let elsewhere = write(3, &MAGIC);
        claim(&elsewhere);
        let Ok(OutputTarget::File(place)) = resolve(&directory.join("trace")) else {
            panic!("not a file");
        };
        remove_drafts(&place);
        let left = |number: &u32| {
            directory
                .join(format!("trace.new-{dead}-{number}"))
                .exists()
        };
        let left: Vec<u32> = (0..4).filter(left).collect();
        fs::remove_dir_all(&directory).expect("a removable directory");
        assert_eq!(left, [2, 3]);
    }
}
