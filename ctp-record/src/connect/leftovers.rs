//! What recorders that were killed could not take away: the directory of a socket, and a file
//! that had not taken its place.
//!
//! Nothing is removed but what a recorder of this user made, and only once that one is gone.

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
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

use crate::connect::rendezvous::{CONTROL, SOCK};
use crate::output::Location;
use crate::proc::process;

/// Only its owner enters it, and it is a directory.
const PRIVATE_DIRECTORY: u32 = 0o040_700;

/// Removes the directories `ctp-PID-N` in `parent` whose process is gone, with their sockets.
pub fn remove_sockets(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if names_a_dead_owner(&name, "ctp-") {
            // What cannot be removed stays, as it would have without us.
            let _ = remove_socket(parent, &name);
        }
    }
}

/// Nobody takes this file for left over as long as it is open, wherever its recorder runs. Where files
/// cannot be locked, that one's number has to do.
pub fn claim(draft: &File) {
    let _ = flock(draft, FlockOperation::NonBlockingLockExclusive);
}

/// Removes the drafts `FILE.new-PID-N` beside `file` whose process is gone.
pub fn remove_drafts(file: &Location) {
    let prefix = format!("{}.new-", file.name().to_string_lossy());
    for name in names_in(file.directory()).unwrap_or_default() {
        let name = OsStr::from_bytes(name.as_bytes());
        if names_a_dead_owner(name, &prefix) && is_left_draft(file.directory(), name) {
            let _ = unlinkat(file.directory(), name, AtFlags::empty());
        }
    }
}

/// A file of this user's with a trace, or nothing yet, that nobody has [claimed](claim)?
fn is_left_draft(directory: impl AsFd, name: &OsStr) -> bool {
    let file = file_of_ours(directory, name);
    file.is_some_and(|file| begins_as_a_trace(&file) && is_free(&file))
}

/// A file of this user's with a trace that no recorder writes?
pub fn is_trace_of_ours(directory: impl AsFd, name: &OsStr) -> bool {
    let is_trace = |file: &File| {
        let is_empty = file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        !is_empty && begins_as_a_trace(file)
    };
    file_of_ours(directory, name).is_some_and(|file| is_trace(&file) && is_free(&file))
}

fn is_free(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Not what a link leads to.
fn file_of_ours(directory: impl AsFd, name: &OsStr) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty()).map(File::from);
    let is_file_of_ours = |stat: Stat| {
        let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
        is_file && stat.st_uid == geteuid().as_raw()
    };
    file.ok()
        .filter(|file| fstat(file).is_ok_and(is_file_of_ours))
}

fn begins_as_a_trace(file: &File) -> bool {
    let mut beginning = Vec::new();
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut beginning);
    read.is_ok() && MAGIC.starts_with(&beginning)
}

/// Is it `PREFIX` with the number of a process that does not exist, and perhaps `-N`?
fn names_a_dead_owner(name: &OsStr, prefix: &str) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else {
        return false;
    };
    let (pid, number) = rest.split_once('-').unwrap_or((rest, "0"));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(number) && is_number(pid) && pid.parse().is_ok_and(has_exited)
}

/// Not if it is the number of no process, such as a date.
fn has_exited(pid: i32) -> bool {
    let pid = Pid::from_raw(pid).filter(|_| pid < PIDS);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// The ids of processes are smaller (`PID_MAX_LIMIT` of the kernel).
const PIDS: i32 = 4_194_304;

/// By way of an open directory, so that nobody can put another in its place meanwhile.
fn remove_socket(parent: &Path, name: &OsStr) -> rustix::io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(CWD, parent.join(name), flags, Mode::empty())?;
    let stat = fstat(&directory)?;
    let is_ours = stat.st_uid == geteuid().as_raw() && stat.st_mode == PRIVATE_DIRECTORY;
    if !is_ours {
        return Ok(());
    }
    let names = names_in(&directory)?;
    let is_known = |name: &CString| {
        [SOCK, CONTROL]
            .map(str::as_bytes)
            .contains(&name.to_bytes())
    };
    let has_listener = names.iter().any(|name| name.to_bytes() == SOCK.as_bytes());
    if !names.iter().all(is_known) || (has_listener && !is_dead_socket(&directory)) {
        return Ok(());
    }
    for name in &names {
        unlinkat(&directory, name, AtFlags::empty())?;
    }
    unlinkat(CWD, parent.join(name), AtFlags::REMOVEDIR)
}

/// What is in this directory.
///
/// # Errors
/// Those of the kernel.
pub fn names_in(directory: impl AsFd) -> rustix::io::Result<Vec<CString>> {
    // Also where the descriptor at hand only names it.
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(directory, ".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        names.push(entry?.file_name().to_owned());
    }
    names.retain(|name| !matches!(name.to_bytes(), b"." | b".."));
    Ok(names)
}

/// Its process may live in another namespace, where it has another number. A socket of the wrong
/// sort is refused before it disturbs a listener, and with another error than if there is none.
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
    use crate::output::{Target, resolve};
    use std::io::Write as _;
    use std::process::{Command, id};

    /// Of a process that was there just now.
    fn dead_pid() -> u32 {
        let mut child = Command::new("true").spawn().expect("starts");
        child.wait().expect("ends");
        child.id()
    }

    #[test]
    fn only_names_that_recorders_give_are_taken_for_leftovers() {
        let (dead, alive) = (dead_pid(), id());
        let is_left = |name: &str| names_a_dead_owner(OsStr::new(name), "ctp-");
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
    fn only_traces_that_nobody_writes_are_removed() {
        let directory = std::env::temp_dir().join(format!("ctp-drafts-{}", id()));
        fs::create_dir(&directory).expect("can be made");
        let dead = dead_pid();
        let write = |number: u32, bytes: &[u8]| {
            let path = directory.join(format!("trace.new-{dead}-{number}"));
            let mut file = File::create_new(&path).expect("can be made");
            file.write_all(bytes).expect("can be written");
            file
        };
        write(0, &[MAGIC.as_slice(), b"some blocks"].concat());
        write(1, b"");
        write(2, b"of somebody");
        let elsewhere = write(3, &MAGIC);
        claim(&elsewhere);
        let Ok(Target::File(place)) = resolve(&directory.join("trace")) else {
            panic!("it is the place of a file");
        };
        remove_drafts(&place);
        let left = |number: &u32| {
            directory
                .join(format!("trace.new-{dead}-{number}"))
                .exists()
        };
        let left: Vec<u32> = (0..4).filter(left).collect();
        fs::remove_dir_all(&directory).expect("can be removed");
        assert_eq!(left, [2, 3]);
    }
}
