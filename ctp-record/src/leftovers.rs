//! What recorders that were killed could not take away: the directory of a socket, and a file
//! that had not taken its place.
//!
//! Nothing is removed but what a recorder of this user made, and only once that one is gone.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

use crate::rendezvous::CONTROL;

/// Only its owner enters it, and it is a directory.
const PRIVATE_DIRECTORY: u32 = 0o040_700;

/// The name of the socket at which programs ring.
const SOCK: &[u8] = b"sock";

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

/// Removes the drafts `FILE.new-PID` beside `file` whose process is gone.
pub fn remove_drafts(file: &Path) {
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
        return;
    };
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let prefix = format!("{}.new-", name.to_string_lossy());
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && names_a_dead_owner(&entry.file_name(), &prefix) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Is it `PREFIX` with the number of a process that does not exist, and perhaps `-N`?
fn names_a_dead_owner(name: &OsStr, prefix: &str) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else {
        return false;
    };
    let (pid, number) = rest.split_once('-').unwrap_or((rest, "0"));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(number) && is_number(pid) && pid.parse().is_ok_and(is_gone)
}

fn is_gone(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

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
    let is_known = |name: &CString| [SOCK, CONTROL.as_bytes()].contains(&name.to_bytes());
    let has_listener = names.iter().any(|name| name.to_bytes() == SOCK);
    if !names.iter().all(is_known) || (has_listener && !is_dead_socket(&directory)) {
        return Ok(());
    }
    for name in &names {
        unlinkat(&directory, name, AtFlags::empty())?;
    }
    unlinkat(CWD, parent.join(name), AtFlags::REMOVEDIR)
}

fn names_in(directory: impl AsFd) -> rustix::io::Result<Vec<CString>> {
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
    let path = format!("/proc/self/fd/{}/sock", directory.as_raw_fd());
    let is_socket = fs::symlink_metadata(&path).is_ok_and(|it| it.file_type().is_socket());
    let asked = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    is_socket && asked.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_recorders_give_are_taken_for_leftovers() {
        // Above the largest process id that Linux gives.
        for name in ["ctp-4194305-0", "ctp-4194305-17"] {
            assert!(names_a_dead_owner(OsStr::new(name), "ctp-"), "{name}");
        }
        let alive = format!("ctp-{}-0", std::process::id());
        for name in [
            "ctp-",
            "ctp-x-0",
            "ctp-4194305-x",
            "ctp-4194305-0-1",
            "ctp--0",
            "ctp-0-0",
            &alive,
        ] {
            assert!(!names_a_dead_owner(OsStr::new(name), "ctp-"), "{name}");
        }
    }
}
