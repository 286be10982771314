//! The socket to the recorder: the doorbell, and the request for a process's own memory.
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
use crate::memory::request::{GRANTED, MemoryRequest};

/// Longest path of a socket that the kernel takes.
pub(super) type Path = Vec<u8, 107>;

/// A connection, with the identity of its file. The program may close the descriptor, and then open
/// another file that gets the same number.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    identity: (u64, u64),
}

/// The outcome of a ring.
pub(super) enum RingOutcome {
    /// The byte was sent.
    Sent,
    /// The socket was full, so the recorder is awake.
    WouldBlock,
    /// There is no recorder.
    Failed,
}

/// Why a process gets no memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoOwnMemory {
    /// The recorder denied the request, did not answer in time, or sent memory that cannot be used.
    /// The recorder knows this; in the last case, because nothing is ever written in that memory.
    Denied,
    /// The recorder could not be reached, or closed the connection before the request was sent. The recorder does not
    /// count the process.
    Unreached,
}

/// How long a process waits for memory of its own. A recorder that runs answers at once.
const ANSWER_TIMEOUT_NS: u64 = 500_000_000;

const QUIETLY: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

impl Socket {
    /// Connects, without waiting.
    pub fn dial(path: &[u8]) -> Option<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let address = SocketAddrUnix::new(path).ok()?;
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        let fd = above_stdio(fd).ok()?;
        connect(&fd, &address).ok()?;
        let identity = identity_of(&fd)?;
        Some(Socket { fd, identity })
    }

    /// Sends one byte. Never blocks and raises no signal.
    pub fn ring(&self) -> RingOutcome {
        if !self.is_own_socket() {
            return RingOutcome::Failed;
        }
        match send(&self.fd, &[1], QUIETLY) {
            Ok(_) => RingOutcome::Sent,
            Err(Errno::AGAIN) => RingOutcome::WouldBlock,
            Err(_) => RingOutcome::Failed,
        }
    }

    /// Requests memory for this process, and waits a bounded time. After that the recorder can no
    /// longer send an answer, so that the recorder knows the outcome.
    pub fn request_memory(&self, request: MemoryRequest) -> Result<OwnedFd, NoOwnMemory> {
        send(&self.fd, request.bytes(), QUIETLY).map_err(|_| NoOwnMemory::Unreached)?;
        self.await_answer();
        // If this fails, the recorder is gone. An answer that was sent before can still be
        // received.
        let _ = shutdown(&self.fd, Shutdown::Read);
        self.receive()
    }

    /// Requests memory that this process cannot use. The recorder counts the process, but can no longer
    /// send an answer. Returns false if the recorder has closed the connection, and so does not count the process.
    pub fn request_unusable(&self) -> bool {
        shutdown(&self.fd, Shutdown::Read).is_ok()
            && send(&self.fd, MemoryRequest::Own.bytes(), QUIETLY).is_ok()
    }

    /// Waits for an answer until the deadline, however many signals arrive.
    fn await_answer(&self) {
        let end_ns = kernel_ns().saturating_add(ANSWER_TIMEOUT_NS);
        let mut answer = [PollFd::new(&self.fd, PollFlags::IN)];
        while poll(&mut answer, Some(&time_until(end_ns))) == Err(Errno::INTR) {}
    }

    fn receive(&self) -> Result<OwnedFd, NoOwnMemory> {
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
        let granted = received.is_ok_and(|message| message.bytes == 1) && byte == [GRANTED];
        if granted {
            // Without a free descriptor number, the kernel drops the descriptor.
            descriptors.next().ok_or(NoOwnMemory::Denied)
        } else {
            Err(NoOwnMemory::Denied)
        }
    }

    /// Closes the descriptor in a fork, which has a copy but does not need it.
    pub fn close_in_a_fork(&self) {
        if self.is_own_socket() {
            // SAFETY: this closes the process's copy of its own descriptor. Any other user of the
            // inherited session finds by the identity that the number no longer belongs to that
            // socket, and leaves the number alone.
            unsafe { rustix::io::close(self.fd.as_raw_fd()) };
        }
    }

    /// Whether the descriptor is still this socket. A program may close every descriptor that it does
    /// not know, and reuse the number.
    fn is_own_socket(&self) -> bool {
        identity_of(&self.fd) == Some(self.identity)
    }
}

/// The time left until `end_ns`, at most [`ANSWER_TIMEOUT_NS`], which is less than a second.
fn time_until(end_ns: u64) -> Timespec {
    let left_ns = end_ns.saturating_sub(kernel_ns());
    Timespec {
        tv_sec: 0,
        tv_nsec: left_ns as _,
    }
}

/// Returns the same file with a number above 2. A program that closed its stdout must not find the
/// recorder's socket there, and print into it.
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
