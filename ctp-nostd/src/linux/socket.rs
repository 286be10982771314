//! The socket to the recorder: the bell, and the request for memory of one's own.
#![allow(unsafe_code, reason = "closes an inherited descriptor")]

use core::mem::MaybeUninit;

use heapless::Vec;
use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::fstat;
use rustix::io::{Errno, IoSliceMut, fcntl_dupfd_cloexec};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, Shutdown,
    SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg, send, shutdown, socket_with,
};

use super::clock::kernel_ns;
use crate::memory::request::{Asked, GRANTED};

/// Longest path of a socket that the kernel takes.
pub(super) type Path = Vec<u8, 107>;

/// A connection, and what tells it from another file that got its number after the program
/// closed it.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    identity: (u64, u64),
}

/// What became of a ring.
pub(super) enum Rung {
    /// The byte is on its way.
    Sent,
    /// There was no room for it, so the recorder is awake.
    WouldBlock,
    /// Nobody is there.
    Failed,
}

/// Why a process gets no memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The recorder has none for it, or was not waited for any longer, or what it gave cannot be used: it
    /// knows, in the last case since nothing is ever done in that memory.
    Denied,
    /// The recorder could not be asked, and knows nothing of that.
    Unreached,
}

/// How long a process waits for memory of its own. A recorder that is there answers at once.
const PATIENCE_NS: u64 = 500_000_000;

const QUIETLY: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

impl Socket {
    /// Connects, without waiting for anybody.
    pub fn dial(path: &[u8]) -> Option<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let address = SocketAddrUnix::new(path).ok()?;
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        let fd = above_stdio(fd).ok()?;
        connect(&fd, &address).ok()?;
        let identity = identity_of(&fd)?;
        Some(Socket { fd, identity })
    }

    /// One byte: never blocks and raises no signal.
    pub fn ring(&self) -> Rung {
        if !self.is_still_ours() {
            return Rung::Failed;
        }
        match send(&self.fd, &[1], QUIETLY) {
            Ok(_) => Rung::Sent,
            Err(Errno::AGAIN) => Rung::WouldBlock,
            Err(_) => Rung::Failed,
        }
    }

    /// Asks for memory of this process's own, and waits a little for it. What comes later cannot be
    /// sent any more, so that the recorder knows of it.
    pub fn ask(&self, asked: Asked) -> Result<OwnedFd, Missing> {
        send(&self.fd, asked.bytes(), QUIETLY).map_err(|_| Missing::Unreached)?;
        self.await_answer();
        // Where that fails, nobody is there any more. What was sent before is there all the same.
        let _ = shutdown(&self.fd, Shutdown::Read);
        self.receive()
    }

    /// Asks for memory that this process could not use: no answer can be sent any more.
    pub fn ask_in_vain(&self) {
        // Where either fails, there is no recorder to count this process.
        if shutdown(&self.fd, Shutdown::Read).is_ok() {
            let _ = send(&self.fd, Asked::Own.bytes(), QUIETLY);
        }
    }

    /// No longer than that, however many signals come meanwhile.
    fn await_answer(&self) {
        let end_ns = kernel_ns().saturating_add(PATIENCE_NS);
        let mut answer = [PollFd::new(&self.fd, PollFlags::IN)];
        while poll(&mut answer, Some(&time_until(end_ns))) == Err(Errno::INTR) {}
    }

    fn receive(&self) -> Result<OwnedFd, Missing> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(
            &self.fd,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            flags,
        );
        let mut descriptors = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let granted = received.is_ok_and(|it| it.bytes == 1) && byte == [GRANTED];
        match granted {
            // Without a number left for it, the kernel drops what was sent.
            true => descriptors.next().ok_or(Missing::Denied),
            false => Err(Missing::Denied),
        }
    }

    /// In a fork, which has a copy of the descriptor and no use for it.
    pub fn close_in_a_fork(&self) {
        if self.is_still_ours() {
            // SAFETY: this process's copy of our own descriptor; whatever is left of the session
            // that was inherited finds that it is not that socket any more, and lets it be.
            unsafe { rustix::io::close(self.fd.as_raw_fd()) };
        }
    }

    /// A program may close every descriptor that it does not know, and use the number again.
    fn is_still_ours(&self) -> bool {
        identity_of(&self.fd) == Some(self.identity)
    }
}

/// What is left until then, at most [`PATIENCE_NS`], which is less than a second.
fn time_until(end_ns: u64) -> Timespec {
    let left_ns = end_ns.saturating_sub(kernel_ns());
    Timespec {
        tv_sec: 0,
        tv_nsec: left_ns as _,
    }
}

/// The same file with a number above 2. A program that closed its stdout must not find the recorder's
/// socket there, and print into it.
fn above_stdio(fd: OwnedFd) -> rustix::io::Result<OwnedFd> {
    if 2 < fd.as_raw_fd() {
        return Ok(fd);
    }
    fcntl_dupfd_cloexec(&fd, 3)
}

fn identity_of(fd: &OwnedFd) -> Option<(u64, u64)> {
    let stat = fstat(fd).ok()?;
    Some((stat.st_dev, stat.st_ino))
}
