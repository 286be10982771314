//! Finds the thread that received a fatal signal, by an announcement of the kernel.
//!
//! The kernel announces on its process connector each thread that is about to dump core, before the process ends and
//! even if no core is written. The program is not involved: no tracing, no signal handler. Only core dumps are
//! subscribed to, so that starts and ends of processes on a busy machine cause no messages. This requires Linux 6.6.
//! On an older kernel, or without permission, nothing arrives, and the trace says that the thread is unknown.

mod message;

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, recvfrom, sendto, socket_with};

pub use message::CrashedThread;

/// Listens for crashes.
#[derive(Debug)]
pub struct Crashes {
    /// The socket of the subscription. `None` if subscribing failed.
    socket: Option<OwnedFd>,
    /// The latest crashes on the machine, in the order of their announcements.
    latest: Vec<CrashedThread>,
}

/// The kernel's own address, and the group of the connector's process events.
const KERNEL: u32 = 0;
const PROCESS_EVENTS: u32 = 1;
/// How many crashes are remembered, of any process on the machine. Older crashes are forgotten.
const MAX_KEPT: usize = 4096;
/// Maximum number of messages read in a call, to bound its time.
const MAX_AT_ONCE: usize = 256;

impl Crashes {
    /// Subscribes to crashes, if the kernel allows it.
    pub fn listen() -> Self {
        Crashes {
            socket: subscribe().ok(),
            latest: Vec::new(),
        }
    }

    /// Reads the announcements since the last call.
    pub fn read_pending(&mut self) {
        let Some(socket) = &self.socket else { return };
        let mut buffer = [0; 512];
        for _ in 0..MAX_AT_ONCE {
            match recvfrom(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _, from)) => {
                    let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                    let is_genuine = from.is_some_and(|from| from.pid() == KERNEL);
                    let crash = message::crash(&buffer[..length.min(buffer.len())]);
                    self.latest.extend(crash.filter(|_| is_genuine));
                    let excess = self.latest.len().saturating_sub(MAX_KEPT);
                    self.latest.drain(..excess);
                }
                // Some messages were dropped because the buffer was full.
                Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// The id of the thread that crashed last, in a process for which `requested` returns true.
    pub fn latest_in(&self, requested: impl Fn(u32) -> bool) -> Option<u32> {
        let crash = self.latest.iter().rfind(|crash| requested(crash.process));
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
    bind(&socket, &SocketAddrNetlink::new(0, PROCESS_EVENTS))?;
    let kernel = SocketAddrNetlink::new(KERNEL, 0);
    sendto(
        &socket,
        &message::subscription(),
        SendFlags::empty(),
        &kernel,
    )?;
    Ok(socket)
}
