//! What the epolls of a process watch: is somebody told once a descriptor is ready?
//!
//! The kernel lists what an epoll watches while it holds that epoll's lock. So a process with many
//! descriptors is not asked.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::proc::descriptor::Descriptor;
use crate::proc::descriptor_tables::Tables;

/// Descriptors of a process that is asked, at most: an epoll has about as many entries, for each of
/// which its lock is held for a microsecond or less.
const MOST_LINKS: usize = 1 << 8;

/// `EPOLLIN`, `EPOLLRDNORM`, and `EPOLLRDHUP`.
const READ: u32 = 0x1 | 0x40 | 0x2000;
/// `EPOLLOUT`, and `EPOLLWRNORM`.
const WRITE: u32 = 0x4 | 0x100;

/// All that the epolls of one process watch.
#[derive(Debug)]
pub struct Watched(Vec<Entry>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    fd: u64,
    /// What is reported of it; nothing of one that is to be told of once, and was.
    events: u32,
    inode: u64,
}

impl Watched {
    /// Nothing where somebody may watch whom we do not see: a process without an epoll, with more
    /// than one table of descriptors, with an `io_uring`, or with too many descriptors.
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

    /// Is somebody told once this can be read, or written? Under any number that stands for it.
    pub fn has(&self, fd: u64, descriptor: Descriptor, reads: bool) -> bool {
        let inode = match descriptor {
            Descriptor::Socket(inode) | Descriptor::Pipe(inode, _) => Some(inode),
            _ => None,
        };
        let events = if reads { READ } else { WRITE };
        let is_match = |entry: &&Entry| entry.fd == fd || inode == Some(entry.inode);
        let mut of_it = self.0.iter().filter(is_match);
        of_it.any(|entry| entry.events & events != 0)
    }
}

/// What this epoll watches; nothing any more if it is gone.
fn list_of(pid: u32, epoll: &str) -> Option<String> {
    match fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(String::new()),
        list => list.ok(),
    }
}

/// The numbers of all epolls.
fn epolls_in(directory: &Path) -> Option<Vec<String>> {
    let mut epolls = Vec::new();
    for (i, link) in fs::read_dir(directory).ok()?.enumerate() {
        let link = link.ok().filter(|_| i < MOST_LINKS)?;
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

/// `tfd:        5 events:       19 data:   7f00aa0005  pos:0 ino:61af sdev:7`, see proc(5).
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
    fn lines_that_are_none_say_nothing() {
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

    /// This process is one of many tests, whose epolls are none of ours.
    fn is_notified(socket: &UdpSocket, reads: bool) -> bool {
        let link = format!("/proc/self/fd/{}", socket.as_raw_fd());
        let descriptor = Descriptor::at(Path::new(&link)).expect("it is open");
        let watched = Watched::in_process(std::process::id()).expect("there is one");
        watched.has(socket.as_raw_fd() as u64, descriptor, reads)
    }

    fn knock(socket: &UdpSocket, epoll: &OwnedFd) {
        let address = socket.local_addr().expect("it has one");
        socket.send_to(b"frame", address).expect("it is bound");
        let mut events = Vec::with_capacity(1);
        epoll::wait(epoll, rustix::buffer::spare_capacity(&mut events), None).expect("it is told");
        assert_eq!(events.len(), 1);
    }

    // CT-15
    #[test]
    fn who_is_told_once_is_told_no_more_until_that_is_asked_for_again() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("can be bound");
        let epoll = epoll::create(CreateFlags::CLOEXEC).expect("can be made");
        assert!(!is_notified(&socket, true), "nobody has asked");
        let (data, once) = (EventData::new_u64(7), EventFlags::IN | EventFlags::ONESHOT);
        epoll::add(&epoll, &socket, data, once).expect("it is open");
        assert_eq!(
            [true, false].map(|reads| is_notified(&socket, reads)),
            [true, false]
        );
        knock(&socket, &epoll);
        assert!(!is_notified(&socket, true), "it was told");
        epoll::modify(&epoll, &socket, data, once).expect("it is there");
        assert!(is_notified(&socket, true));
        let other = socket.try_clone().expect("can be made");
        assert!(is_notified(&other, true), "it is the same socket");
        epoll::delete(&epoll, &socket).expect("it is there");
        assert!(!is_notified(&socket, true));
    }
}
