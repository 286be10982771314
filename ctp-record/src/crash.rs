//! Which thread a fatal signal arrived at, as the kernel tells it to whoever listens.
//!
//! The kernel announces on its process connector each thread that is about to dump core, before
//! the process ends and also if no core is ever written. Nothing is asked of the program: no
//! tracing, no signal handler. Only core dumps are subscribed to, so a busy machine sends nothing;
//! this takes Linux 6.6. Where the kernel is older or does not allow it, nothing is heard, and the
//! trace says that the thread is not known.

mod message;

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, recvfrom, sendto, socket_with};

pub use message::Crash;

/// Listens for crashes.
#[derive(Debug)]
pub struct Crashes {
    socket: Option<OwnedFd>,
    heard: Vec<Crash>,
}

/// The kernel's own address, and the group of the connector's process events.
const KERNEL: u32 = 0;
const PROCESS_EVENTS: u32 = 1;
/// Crashes on the whole machine that are remembered: the latest.
const MOST_HEARD: usize = 4096;
/// Messages that are read in one go, so that nobody can hold up the recorder.
const MOST_AT_ONCE: usize = 256;

impl Crashes {
    /// From now on, if the kernel allows.
    pub fn listen() -> Self {
        Crashes {
            socket: subscribe().ok(),
            heard: Vec::new(),
        }
    }

    /// Takes in what was announced since the last call.
    pub fn hear(&mut self) {
        let Some(socket) = &self.socket else { return };
        let mut buffer = [0; 512];
        for _ in 0..MOST_AT_ONCE {
            match recvfrom(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _, from)) => {
                    let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                    let is_genuine = from.is_some_and(|from| from.pid() == KERNEL);
                    let crash = message::crash(&buffer[..length.min(buffer.len())]);
                    self.heard.extend(crash.filter(|_| is_genuine));
                    let excess = self.heard.len().saturating_sub(MOST_HEARD);
                    self.heard.drain(..excess);
                }
                // Some were dropped for want of room; the rest is there.
                Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// The thread that crashed last, of these processes.
    pub fn latest_in(&self, requested: impl Fn(u32) -> bool) -> Option<u32> {
        let crash = self.heard.iter().rfind(|crash| requested(crash.process));
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
