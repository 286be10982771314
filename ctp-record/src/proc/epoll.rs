//! What the epolls of a process watch: whether a descriptor that becomes ready wakes anything.
//!
//! The kernel lists the entries of an epoll while it holds that epoll's lock. A process with many descriptors is
//! therefore not inspected.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::proc::descriptor::Descriptor;
use crate::proc::descriptor_tables::Tables;

/// Maximum number of descriptors of an inspected process. An epoll has about as many entries, and its lock is held for
/// at most a microsecond for each.
const MAX_LINKS: usize = 1 << 8;

/// `EPOLLIN`, `EPOLLRDNORM`, and `EPOLLRDHUP`.
const READ: u32 = 0x1 | 0x40 | 0x2000;
/// `EPOLLOUT`, and `EPOLLWRNORM`.
const WRITE: u32 = 0x4 | 0x100;

/// Everything that the epolls of a process watch.
#[derive(Debug)]
pub struct Watched(Vec<Entry>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    fd: u64,
    /// The watched events; 0 for a one-shot entry that has fired.
    events: u32,
    inode: u64,
}

impl Watched {
    /// The entries of a process. `None` if there may be watches that are not visible here: if there is no epoll, or if
    /// there are several descriptor tables, an `io_uring`, or too many descriptors.
    pub fn in_process(pid: u32) -> Option<Self> {
        let tables = Tables::of(pid)?;
        let [directory] = &tables.directories[..] else {
            return None;
        };
        let epolls = epolls_in(directory)?;
        let lists = epolls.iter().map(|fd| list_of(pid, fd));
        let lists: Vec<String> = lists.collect::<Option<_>>()?;
        let entries = lists.iter().flat_map(|list| list.lines().filter_map(parse));
        (!epolls.is_empty()).then(|| Watched(entries.collect()))
    }

    /// Whether an epoll watches this file for reading (`reads`) or writing, under any number of the same file.
    pub fn has(&self, fd: u64, descriptor: Descriptor, reads: bool) -> bool {
        let inode = match descriptor {
            Descriptor::Socket(inode) | Descriptor::Pipe(inode, _) => Some(inode),
            _ => None,
        };
        let events = if reads { READ } else { WRITE };
        let mut entries = self.0.iter();
        entries.any(|entry| {
            let is_same = entry.fd == fd || inode == Some(entry.inode);
            is_same && entry.events & events != 0
        })
    }
}

/// The entries of this epoll; empty if the epoll is gone.
fn list_of(pid: u32, epoll: &str) -> Option<String> {
    match fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(String::new()),
        list => list.ok(),
    }
}

/// The numbers of all epolls of a table.
fn epolls_in(directory: &Path) -> Option<Vec<String>> {
    let mut epolls = Vec::new();
    for (i, link) in fs::read_dir(directory).ok()?.enumerate() {
        let link = link.ok().filter(|_| i < MAX_LINKS)?;
        match Descriptor::at(&link.path()) {
            Ok(Descriptor::Epoll) => epolls.push(link.file_name().into_string().ok()?),
            Ok(Descriptor::Ring) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    Some(epolls)
}

/// Parses `tfd:        5 events:       19 data:   7f00aa0005  pos:0 ino:61af sdev:7`, see proc(5).
fn parse(line: &str) -> Option<Entry> {
    let rest = line.strip_prefix("tfd:")?;
    let field = |name: &str| rest.split_once(name)?.1.split_whitespace().next();
    Some(Entry {
        fd: rest.split_whitespace().next()?.parse().ok()?,
        events: u32::from_str_radix(field("events:")?, 16).ok()?,
        inode: u64::from_str_radix(field("ino:")?, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::{AsRawFd as _, OwnedFd};

    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

    use super::*;

    #[test]
    fn invalid_lines_are_ignored() {
        for line in ["pos:\t0", "tfd: x events: 1 ino:1", "tfd: 5 events: 19", ""] {
            assert_eq!(parse(line), None, "{line}");
        }
        let line = "tfd:        5 events: 40000000 data:                5  pos:0 ino:61af sdev:7";
        let entry = Entry {
            fd: 5,
            events: 0x4000_0000,
            inode: 0x61af,
        };
        assert_eq!(parse(line), Some(entry));
    }

    /// Ignores the epolls of other tests in this process.
    fn is_watched(socket: &UdpSocket, reads: bool) -> bool {
        let link = format!("/proc/self/fd/{}", socket.as_raw_fd());
        let descriptor = Descriptor::at(Path::new(&link)).expect("an open socket");
        let watched = Watched::in_process(std::process::id()).expect("an epoll");
        watched.has(socket.as_raw_fd() as u64, descriptor, reads)
    }

    fn send_and_wait(socket: &UdpSocket, epoll: &OwnedFd) {
        let address = socket.local_addr().expect("an address");
        socket.send_to(b"frame", address).expect("a bound socket");
        let mut events = Vec::with_capacity(1);
        epoll::wait(epoll, rustix::buffer::spare_capacity(&mut events), None).expect("an event");
        assert_eq!(events.len(), 1);
    }

    // CT-15
    #[test]
    fn one_shot_watches_end_until_rearmed() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let epoll = epoll::create(CreateFlags::CLOEXEC).expect("an epoll");
        assert!(!is_watched(&socket, true), "no watch yet");
        let (data, once) = (EventData::new_u64(7), EventFlags::IN | EventFlags::ONESHOT);
        epoll::add(&epoll, &socket, data, once).expect("a new watch");
        assert_eq!(
            [true, false].map(|reads| is_watched(&socket, reads)),
            [true, false]
        );
        send_and_wait(&socket, &epoll);
        assert!(!is_watched(&socket, true), "fired");
        epoll::modify(&epoll, &socket, data, once).expect("a watch");
        assert!(is_watched(&socket, true));
        let other = socket.try_clone().expect("a duplicate");
        assert!(is_watched(&other, true), "the same socket");
        epoll::delete(&epoll, &socket).expect("a watch");
        assert!(!is_watched(&socket, true));
    }
}
