//! Finds the thread that received a fatal signal.
//!
//! The kernel reports each thread that is about to dump core on the process connector (netlink), even if no core file
//! is written. The program is not involved: no tracing, no signal handler. Only core dumps are subscribed to, so that
//! starts and ends of processes on a busy machine cause no messages. This requires Linux 6.6. On an older kernel, or
//! without permission, no message arrives, and the trace says that the thread is unknown.

mod message;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, recvfrom, sendto, socket_with};

pub use message::CrashedThread;

/// Listens for crashes.
#[derive(Debug)]
pub struct CrashListener {
    /// The socket of the subscription. `None` if subscribing failed.
    socket: Option<OwnedFd>,
    /// The latest crashes on the machine, in the order of their messages.
    latest: VecDeque<CrashedThread>,
}

/// The kernel's own address.
const KERNEL: u32 = 0;
/// The group of the connector's process events.
const PROCESS_EVENTS_GROUP: u32 = 1;
/// How many crashes are remembered, of any process on the machine. Older crashes are forgotten.
const MAX_KEPT: usize = 4096;
/// Maximum number of messages read in a call, to bound its time.
const MAX_AT_ONCE: usize = 256;

impl CrashListener {
    /// Subscribes to crashes, if the kernel allows it.
    pub fn listen() -> Self {
        CrashListener {
            socket: subscribe().ok(),
            latest: VecDeque::new(),
        }
    }

    /// Reads pending messages, at most `MAX_AT_ONCE`.
    pub fn read_pending(&mut self) {
        let Some(socket) = &self.socket else { return };
        let mut buffer = [0; 512];
        for _ in 0..MAX_AT_ONCE {
            match recvfrom(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _, from)) => {
                    let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                    if from.is_some_and(|from| from.pid() == KERNEL) {
                        let bytes = &buffer[..length.min(buffer.len())];
                        self.latest.extend(message::crash(bytes));
                    }
                    if MAX_KEPT < self.latest.len() {
                        self.latest.pop_front();
                    }
                }
                // The kernel dropped messages because the buffer was full. Later messages can still be read.
                Err(Errno::NOBUFS) => {}
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// The id of the thread that crashed last, in a process for which `is_match` returns true.
    pub fn latest_in(&self, is_match: impl Fn(u32) -> bool) -> Option<u32> {
        let crash = self.latest.iter().rfind(|crash| is_match(crash.process));
        crash.map(|crash| crash.thread)
    }
}

fn subscribe() -> Result<OwnedFd, Errno> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        Some(netlink::CONNECTOR),
    )?;
    bind(&socket, &SocketAddrNetlink::new(0, PROCESS_EVENTS_GROUP))?;
    let kernel = SocketAddrNetlink::new(KERNEL, 0);
    sendto(
        &socket,
        &message::subscription(),
        SendFlags::empty(),
        &kernel,
    )?;
    Ok(socket)
}
