//! Whether local sockets have anything to read, which their table in `/proc` does not contain. Asks the kernel
//! through netlink, see `sock_diag(7)`, without affecting the program.

use std::collections::HashSet;
use std::fs;

use ctp_trace::record::Seen;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// Maximum number of bytes read of an answer: some twenty thousand sockets.
const MAX_BYTES: usize = 1 << 20;
/// The largest part of an answer.
const BUFFER_BYTES: usize = 1 << 15;

/// A message starts with its length, type, flags, a sequence number and an address.
const HEADER_BYTES: usize = 16;
/// A question contains a family, states, a socket, what to show, and a cookie of the socket.
const QUESTION_BYTES: usize = 24;
/// An answer starts with family, type, state, inode and cookie.
const ANSWER_BYTES: usize = 16;

/// Numbers of `linux/netlink.h` and `linux/unix_diag.h`.
const UNIX: u8 = 1;
const BY_FAMILY: u16 = 20;
const REQUEST_OF_ALL: u16 = 0x301;
const NO_MORE: u16 = 3;
const ALL_STATES: u32 = u32::MAX;
const SHOW_PEER: u32 = 0x4;
const SHOW_TO_READ: u32 = 0x10;
const PEER: u16 = 2;
const TO_READ: u16 = 4;
const SHUTDOWN: u16 = 6;

/// The kernel's numbers of types and states.
const STREAM: u8 = 1;
const DATAGRAM: u8 = 2;
const CONNECTED: u8 = 1;
const LISTENING: u8 = 10;
/// The shutdown flag for receiving.
const RECEIVES_NO_MORE: u8 = 1;

/// The kernel's answer about local sockets.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The requested sockets, by inode.
    pub seen: Vec<(u64, Seen)>,
    /// Whether there are more sockets than were read.
    pub is_cut: bool,
}

/// The kernel's table of local sockets in the network namespace of this process: a line per socket, with the path at
/// its end.
pub fn table() -> Vec<u8> {
    fs::read("/proc/net/unix").unwrap_or_default()
}

/// Whether the local socket with this inode, in the process's network namespace, is a connected stream without a name.
pub fn is_nameless_stream(pid: u32, inode: &str) -> bool {
    let list = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    list.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() == 7 && words[4] == "0001" && words[5] == "03" && words[6] == inode
    })
}

/// The state of these sockets of a process. `None` if the kernel does not answer: the process is in another network
/// namespace, or netlink is not available.
pub fn seen_of(pid: u32, requested: &HashSet<u64>) -> Option<Answer> {
    if !is_of_our_network(pid) {
        return None;
    }
    let mut seen = Vec::new();
    let is_cut = !ask(|answer| {
        seen.extend(parse(answer).filter(|pair| requested.contains(&pair.0)));
        seen.len() < requested.len()
    })?;
    Some(Answer { seen, is_cut })
}

/// The other end of a local socket of a process. `None` if there is none, or the kernel does not answer.
pub fn peer_of(pid: u32, inode: u64) -> Option<u64> {
    if !is_of_our_network(pid) {
        return None;
    }
    let mut peer = None;
    ask(|answer| {
        peer = peer_in(answer, inode);
        peer.is_none()
    })?;
    peer
}

/// The other end, if this is the answer about the socket with this inode.
fn peer_in(answer: &[u8], inode: u64) -> Option<u64> {
    word(answer.get(4..)?).filter(|other| *other == inode)?;
    let (_, peer) = attributes(answer).find(|(sort, _)| *sort == PEER)?;
    word(peer).filter(|peer| 0 < *peer)
}

fn word(bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.get(..4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(bytes).into())
}

/// Whether netlink sees the sockets of this process: it covers the network namespace of this process only.
fn is_of_our_network(pid: u32) -> bool {
    let ours = fs::read_link("/proc/self/ns/net");
    let theirs = fs::read_link(format!("/proc/{pid}/ns/net"));
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        _ => false,
    }
}

/// Requests all local sockets, and passes each answer to `wants_more` until it returns false. The kernel answers at
/// once, so that this never blocks. Returns whether the answer was complete or no more was wanted; `None` if
/// the kernel does not answer.
fn ask(mut wants_more: impl FnMut(&[u8]) -> bool) -> Option<bool> {
    let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG)).ok()?;
    send(&socket, &question(), SendFlags::empty()).ok()?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut read = 0;
    while read < MAX_BYTES {
        let (length, _) = recv(&socket, buffer.as_mut_slice(), RecvFlags::DONTWAIT).ok()?;
        read += length;
        for (sort, answer) in messages(&buffer[..length]) {
            match sort {
                BY_FAMILY if wants_more(answer) => {}
                BY_FAMILY | NO_MORE => return Some(true),
                _ => return None, // an error
            }
        }
    }
    Some(false)
}

fn question() -> Vec<u8> {
    let length = (HEADER_BYTES + QUESTION_BYTES) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_OF_ALL.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([UNIX, 0, 0, 0]);
    for word in [ALL_STATES, 0, SHOW_PEER | SHOW_TO_READ, 0, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

/// The messages in a part of an answer, each with its type.
fn messages(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    pieces(bytes, HEADER_BYTES, |head| {
        let length = u32::from_ne_bytes(head.get(..4)?.try_into().ok()?);
        let sort = u16::from_ne_bytes(head.get(4..6)?.try_into().ok()?);
        Some((length as usize, sort))
    })
}

/// The attributes of an answer, each with its type.
fn attributes(answer: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    pieces(answer.get(ANSWER_BYTES..).unwrap_or_default(), 4, |head| {
        let length = u16::from_ne_bytes(head.get(..2)?.try_into().ok()?);
        let sort = u16::from_ne_bytes(head.get(2..4)?.try_into().ok()?);
        Some((length.into(), sort))
    })
}

/// Pieces that follow each other at multiples of four bytes. `head` returns the length and type of the first. Ends at
/// the first piece that does not fit.
fn pieces(
    bytes: &[u8],
    head_bytes: usize,
    head: impl Fn(&[u8]) -> Option<(usize, u16)>,
) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (length, sort) = head(rest)?;
        let message = rest.get(head_bytes..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((sort, message))
    })
}

/// The inode and state of the socket in an answer.
fn parse(answer: &[u8]) -> Option<(u64, Seen)> {
    let &[_, kind, state, _, ref rest @ ..] = answer else {
        return None;
    };
    let inode = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?);
    let of = |sort| attributes(answer).find(|(value, _)| *value == sort);
    let to_read = of(TO_READ)?.1.get(..4)?.try_into().ok()?;
    let shutdown = of(SHUTDOWN).map_or(0, |(_, message)| {
        message.first().copied().unwrap_or_default()
    });
    let to_read = u32::from_ne_bytes(to_read).into();
    let has_hung_up = shutdown & RECEIVES_NO_MORE != 0;
    Some((inode.into(), seen(kind, state, to_read, has_hung_up)))
}

/// The state of a socket. For a listener, the kernel reports the number of pending connections. For datagrams, the kernel
/// reports the length of the first, which may be zero.
fn seen(kind: u8, state: u8, to_read: u64, has_hung_up: bool) -> Seen {
    match (kind, state, to_read) {
        (_, LISTENING, 0) => Seen::Empty,
        (_, LISTENING, callers) => Seen::Readable(callers),
        _ if has_hung_up => Seen::HungUp,
        (DATAGRAM, _, 1..) => Seen::Readable(1),
        (_, _, 1..) => Seen::Readable(to_read),
        (STREAM, CONNECTED, 0) => Seen::Empty,
        _ => Seen::Open,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::{AsFd, AsRawFd as _};
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};

    use super::*;
    use crate::proc::descriptor::{self, Descriptor, DescriptorState};

    fn inode_of(socket: impl AsFd) -> u64 {
        let (pid, number) = (std::process::id(), socket.as_fd().as_raw_fd());
        match descriptor::state_of(pid, number as u64) {
            DescriptorState::Open(Descriptor::Socket(inode)) => inode,
            _ => panic!("{number} is no socket"),
        }
    }

    /// The state of this socket; `None` if the kernel does not answer.
    fn look(socket: impl AsFd) -> Option<Seen> {
        let (pid, inode) = (std::process::id(), inode_of(socket));
        let answer = seen_of(pid, &HashSet::from([inode]))?;
        let [(_, seen)] = answer.seen[..] else {
            panic!("{answer:?}")
        };
        Some(seen)
    }

    fn has_answers() -> bool {
        let has_answers = seen_of(std::process::id(), &HashSet::from([1])).is_some();
        if !has_answers {
            eprintln!("skipped: this kernel does not report local sockets");
        }
        has_answers
    }

    // CT-15
    #[test]
    fn stream_data_and_hang_ups_are_seen() {
        if !has_answers() {
            return;
        }
        let (mut near, mut far) = UnixStream::pair().expect("a socket pair");
        assert_eq!(look(&near), Some(Seen::Empty));
        far.write_all(b"frame").expect("a connected socket");
        assert_eq!(look(&near), Some(Seen::Readable(5)));
        near.read_exact(&mut [0; 5]).expect("data");
        assert_eq!(look(&near), Some(Seen::Empty));
        drop(far);
        assert_eq!(look(&near), Some(Seen::HungUp));
    }

    // CT-15
    #[test]
    fn the_other_end_of_a_pair_is_found() {
        if !has_answers() {
            return;
        }
        let (near, far) = UnixStream::pair().expect("a socket pair");
        let pid = std::process::id();
        assert_eq!(peer_of(pid, inode_of(&near)), Some(inode_of(&far)));
        assert_eq!(peer_of(pid, inode_of(&far)), Some(inode_of(&near)));
        let alone = UnixDatagram::unbound().expect("a socket");
        assert_eq!(peer_of(pid, inode_of(&alone)), None);
        assert_eq!(peer_of(u32::MAX, inode_of(&near)), None);
    }

    // CT-15
    #[test]
    fn pending_connections_and_datagrams_are_seen() {
        if !has_answers() {
            return;
        }
        let name = format!("ctp-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name).expect("a good name");
        let listener = UnixListener::bind_addr(&address).expect("a listener");
        assert_eq!(look(&listener), Some(Seen::Empty));
        let _caller = UnixStream::connect_addr(&address).expect("a connection");
        assert_eq!(look(&listener), Some(Seen::Readable(1)));

        let (near, far) = UnixDatagram::pair().expect("a socket pair");
        assert_eq!(look(&near), Some(Seen::Open), "an empty datagram may wait");
        far.send(b"frame").expect("a connected socket");
        assert_eq!(look(&near), Some(Seen::Readable(1)));
    }

    #[test]
    fn sockets_of_another_network_are_unknown() {
        let unknown = u32::MAX;
        assert_eq!(seen_of(unknown, &HashSet::from([1])), None);
    }

    #[test]
    fn truncated_answers_are_ignored() {
        let head = [1, STREAM, CONNECTED, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let to_read = [12, 0, 4, 0, 5, 0, 0, 0, 0, 0, 0, 0];
        let answer = [head.as_slice(), &to_read].concat();
        if cfg!(target_endian = "little") {
            assert_eq!(parse(&answer), Some((7, Seen::Readable(5))));
        }
        for length in 0..answer.len() {
            assert_eq!(parse(&answer[..length]), None, "{length}");
        }
        for bytes in [[0; 32], [0xff; 32], [3; 32]] {
            assert!(messages(&bytes).count() <= 1);
            assert!(attributes(&bytes).count() <= 4);
        }
    }
}
