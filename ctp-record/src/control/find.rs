//! Finds the control socket of a recorder and checks that a recorder really listens there.
//!
//! Any user can bind a path that looks like a recorder's. Before anything is sent, three things are checked:
//! the socket's directory is private, the listening process belongs to the directory's owner, and the
//! process has the number in the path. Only root may ask the recorder of another user, and only if that
//! process runs this same executable.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{geteuid, getuid};

use super::converse::Deadline;
use crate::connect::credentials::{self, Peer};
use crate::connect::rendezvous::CONTROL;
use crate::error::ControlError;
use crate::proc::environment;
use crate::proc::namespace;
use crate::proc::process::{self, status_of};
use crate::proc::unix_sockets;

/// The result of an attempt to reach a recorder.
enum Attempt {
    Reached(UnixStream),
    /// Possibly a recorder, but its queue of connections is full.
    Busy,
    /// A process of this untrusted user listens there.
    Foreign(u32),
    Nothing,
}

/// Pause between two attempts at a busy recorder.
const PAUSE: Duration = Duration::from_millis(20);

/// Connects to the recorder with this process id, or to the recorder of the program with this process id.
///
/// # Errors
/// There is no recorder, it is another user's, or it does not accept the connection.
pub fn recorder(pid: u32, deadline: Deadline) -> Result<UnixStream, ControlError> {
    let listening = match reach(&sockets_of(pid), pid, pid, deadline) {
        Some(Ok(stream)) => return Ok(stream),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let found = recorder_of(pid, deadline);
    // Any user can bind a path with a program's number, so an error from there counts only without another recorder.
    found.map_err(|error| match error {
        ControlError::NoRecording(_) => listening.unwrap_or(error),
        error => error,
    })
}

/// Connects to the recorder named in the environment of the program with this id.
fn recorder_of(pid: u32, deadline: Deadline) -> Result<UnixStream, ControlError> {
    let socket = socket_in_environment_of(pid)?;
    let recorder = recorder_in(&socket).ok_or(ControlError::NoRecording(pid))?;
    let reached = reach(&[socket], recorder, pid, deadline);
    reached.unwrap_or(Err(ControlError::Ended(pid)))
}

/// Connects to the recorder with this number at one of these sockets; `None` if no recorder listens there.
fn reach(
    sockets: &[PathBuf],
    recorder: u32,
    pid: u32,
    deadline: Deadline,
) -> Option<Result<UnixStream, ControlError>> {
    loop {
        let (mut is_busy, mut foreign) = (false, None);
        for socket in sockets {
            match attempt(socket, recorder) {
                Attempt::Reached(stream) => return Some(Ok(stream)),
                Attempt::Busy => is_busy = true,
                Attempt::Foreign(uid) => foreign = Some(uid),
                Attempt::Nothing => {}
            }
        }
        if !is_busy {
            return Some(Err(ControlError::Foreign(pid, foreign?)));
        }
        if let Err(late) = deadline.left() {
            return Some(Err(ControlError::Unanswered(pid, late)));
        }
        sleep(PAUSE);
    }
}

fn attempt(socket: &Path, recorder: u32) -> Attempt {
    let Some((directory, owner)) = private_directory(socket) else {
        return Attempt::Nothing;
    };
    match dial(&directory) {
        Ok(stream) => match credentials::of(&stream) {
            Some(peer) if is_recorder(peer, owner, recorder) => Attempt::Reached(stream),
            Some(peer) if !is_trusted(peer.uid) => Attempt::Foreign(peer.uid),
            Some(_) | None => Attempt::Nothing,
        },
        Err(Errno::AGAIN) if is_trusted(owner) => Attempt::Busy,
        Err(_) => Attempt::Nothing,
    }
}

/// The directory of this socket and its owner, if no other user can enter the directory.
fn private_directory(socket: &Path) -> Option<(OwnedFd, u32)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(CWD, socket.parent()?, flags, Mode::empty()).ok()?;
    let stat = fstat(&directory).ok()?;
    let is_private =
        FileType::from_raw_mode(stat.st_mode).is_dir() && stat.st_mode & 0o777 == 0o700;
    is_private.then_some((directory, stat.st_uid))
}

/// Connects without blocking to the socket in the directory that was checked.
fn dial(directory: &OwnedFd) -> rustix::io::Result<UnixStream> {
    let path = process::own_descriptor(directory).join(CONTROL);
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &address)?;
    Ok(socket.into())
}

/// Whether this peer is the recorder with this number and is trustworthy.
fn is_recorder(peer: Peer, owner: u32, recorder: u32) -> bool {
    // A process outside of this pid namespace has no id here. A process in a nested namespace has another id there than
    // here, and the path contains the id there.
    let is_named_so = peer
        .pid
        .is_none_or(|pid| pid == recorder || namespace::own_number(pid) == Some(recorder));
    let is_trusted = is_trusted(peer.uid)
        || geteuid().is_root() && peer.pid.is_some_and(process::runs_this_program);
    peer.uid == owner && is_named_so && is_trusted
}

/// Whether this user is trusted: the calling user and root are.
fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

/// The bound paths that look like the control socket of the recorder with this id.
fn sockets_of(pid: u32) -> Vec<PathBuf> {
    let list = unix_sockets::table();
    let paths = list.split(|&byte| byte == b'\n').filter_map(path_of);
    let own = paths.filter(|path| {
        let is_control = path.file_name().is_some_and(|name| name == CONTROL);
        is_control && recorder_in(path) == Some(pid)
    });
    own.map(Path::to_owned).collect()
}

/// The path at the end of a line of the kernel's list of Unix sockets.
fn path_of(line: &[u8]) -> Option<&Path> {
    let start = line.iter().position(|&byte| byte == b'/')?;
    Some(Path::new(OsStr::from_bytes(&line[start..])))
}

/// The id of the recorder from the socket's directory, `ctp-PID-N`.
fn recorder_in(socket: &Path) -> Option<u32> {
    let directory = socket.parent()?.file_name()?.to_str()?;
    let (pid, number) = directory.strip_prefix("ctp-")?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

/// The control socket in the directory named by the program's environment.
fn socket_in_environment_of(pid: u32) -> Result<PathBuf, ControlError> {
    let environment = environment::of(pid).map_err(|error| unreadable(pid, &error))?;
    let socket = environment::value(&environment, "CTP_SOCK_PATH");
    let socket = socket.ok_or(ControlError::NoRecording(pid))?;
    Ok(Path::new(OsStr::from_bytes(socket)).with_file_name(CONTROL))
}

fn unreadable(pid: u32, error: &io::Error) -> ControlError {
    match error.kind() {
        ErrorKind::PermissionDenied if is_of_this_user(pid) => ControlError::Unreadable(pid),
        ErrorKind::PermissionDenied => ControlError::NotPermitted(pid),
        _ => ControlError::NoProcess(pid),
    }
}

/// Whether the process runs as this user, by its `status` file. The owner of its directory in `/proc` is no
/// proof: for a process that is not dumpable, the owner is root.
fn is_of_this_user(pid: u32) -> bool {
    let users = status_of(pid.into(), "Uid:");
    let real = users.and_then(|users| users.split_whitespace().next()?.parse().ok());
    real == Some(getuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undumpable_process_is_not_taken_for_another_users() {
        let error = ErrorKind::PermissionDenied.into();
        let why = unreadable(std::process::id(), &error);
        assert!(matches!(why, ControlError::Unreadable(_)), "{why}");
        let of_unknown = unreadable(u32::MAX, &error);
        assert!(matches!(of_unknown, ControlError::NotPermitted(_)));
    }

    #[test]
    fn recorder_id_is_read_from_the_socket_path() {
        let line = b"ffff 00000002 00000000 00010000 0001 01 77 /tmp/ctp-71-0/control";
        let path = path_of(line).expect("a path");
        assert_eq!(recorder_in(path), Some(71));
        for other in ["/tmp/ctp-71/control", "/tmp/ctp-71-x/control", "/ctp-71-0"] {
            assert_eq!(recorder_in(Path::new(other)), None, "{other}");
        }
        assert_eq!(path_of(b"ffff 00000002 00000000 00010000 0001 01 77"), None);
    }

    #[test]
    fn peer_with_wrong_pid_or_user_is_not_the_recorder() {
        let (me, pid) = (geteuid().as_raw(), std::process::id());
        let peer = |pid, uid| Peer { pid, uid };
        assert!(is_recorder(peer(Some(pid), me), me, pid));
        assert!(is_recorder(peer(None, me), me, pid));
        assert!(!is_recorder(peer(Some(pid), me), me, pid + 1));
        assert!(!is_recorder(peer(Some(pid), me), me + 1, pid));
        assert!(!is_recorder(peer(None, me + 1), me + 1, pid));
    }
}
