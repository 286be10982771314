//! The process at the other end of a socket.
#![allow(
    unsafe_code,
    reason = "a system call whose safe wrapper has no value for a process of another namespace"
)]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _};

/// The process that connected or listens, as it was when it connected or began to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its process id; `None` if the process has no id in this namespace.
    pub pid: Option<u32>,
    /// Its effective user.
    pub uid: u32,
}

/// The peer of a connected Unix socket, if the kernel knows it.
pub fn of(socket: impl AsFd) -> Option<Peer> {
    let mut credentials = MaybeUninit::<libc::ucred>::zeroed();
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, because it is borrowed. The kernel writes at most `length` bytes to memory of
    // that size, and any bytes are a valid `ucred`, which holds three numbers.
    let credentials = unsafe {
        let descriptor = socket.as_fd().as_raw_fd();
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let found = credentials.as_mut_ptr().cast();
        match libc::getsockopt(descriptor, level, name, found, &raw mut length) {
            0 => credentials.assume_init(),
            _ => return None,
        }
    };
    Some(Peer {
        pid: u32::try_from(credentials.pid).ok().filter(|pid| *pid != 0),
        uid: credentials.uid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_peer_of_a_pair_is_this_process() {
        let (ours, _theirs) = UnixStream::pair().expect("a socket pair");
        let me = Peer {
            pid: Some(std::process::id()),
            uid: rustix::process::geteuid().as_raw(),
        };
        assert_eq!(of(&ours), Some(me));
    }

    #[test]
    fn a_file_has_no_peer() {
        let file = std::fs::File::open("/dev/null").expect("/dev/null");
        assert_eq!(of(&file), None);
    }
}
