//! Whether some sockets have anything to read, by the kernel's tables of TCP and UDP and by its answers about local
//! sockets ([`unix_sockets`]).

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind};

use ctp_trace::record::Seen;

use crate::proc::descriptor::Descriptor;
use crate::proc::unix_sockets;

/// The requested sockets of a process, by inode.
#[derive(Debug, Default)]
pub struct RequestedSockets {
    seen: HashMap<u64, Seen>,
    /// Bytes that a socket has not sent yet, or that the other end has not acknowledged.
    unsent: HashMap<u64, u64>,
    /// A table could not be read completely.
    is_cut: bool,
}

/// Maximum number of bytes read of each table: some ten thousand sockets.
const MAX_BYTES: u64 = 1 << 20;
/// The kernel's state number of a connection closed by the other end.
const CLOSE_WAIT: &str = "08";
/// The kernel's state number of a socket that accepts connections; its amounts are connections.
const LISTENING: &str = "0A";

/// The properties of a table.
#[derive(Clone, Copy)]
struct SocketFamily {
    /// States in which a socket can be readable.
    readable: &'static [&'static str],
    /// Larger amounts are reported as this.
    most: u64,
}

/// States: closed by the other end, connected, listening.
const TCP: SocketFamily = SocketFamily {
    readable: &[CLOSE_WAIT, "01", LISTENING],
    most: u64::MAX,
};
/// States: connected, unconnected. For pending datagrams the kernel reports only their memory, hence the limit 1.
const UDP: SocketFamily = SocketFamily {
    readable: &["01", "07"],
    most: 1,
};
/// What a table says about a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    inode: u64,
    seen: Seen,
    unsent: u64,
}

/// Parses a line of a table.
type Parse = fn(&str) -> Option<Line>;

/// The name of a table and its parser.
type Table = (&'static str, Parse);

const UDP_TABLES: [Table; 2] = [
    ("udp", |line| inet(line, UDP)),
    ("udp6", |line| inet(line, UDP)),
];
const LOCAL_TABLES: [Table; 1] = [("unix", local)];
const TCP_TABLES: [Table; 2] = [
    ("tcp", |line| inet(line, TCP)),
    ("tcp6", |line| inet(line, TCP)),
];

/// Maximum number of descriptors of an observed process. Reading their links takes about 5 ms.
const MAX_LINKS: usize = 1 << 10;

/// The inodes of all sockets of a process. `None` if there may be more.
pub fn inodes_of(pid: u32) -> Option<HashSet<u64>> {
    let mut inodes = HashSet::new();
    for (number, link) in fs::read_dir(format!("/proc/{pid}/fd")).ok()?.enumerate() {
        let link = link.ok().filter(|_| number < MAX_LINKS)?;
        if let Ok(Descriptor::Socket(inode)) = Descriptor::at(&link.path()) {
            inodes.insert(inode);
        }
    }
    Some(inodes)
}

impl RequestedSockets {
    /// The requested sockets of this process. Stops when all are found.
    ///
    /// The TCP tables are read last: for each of them the kernel walks its whole hash table, which takes 5 ms on a
    /// machine of 24 GB, however few sockets there are.
    pub fn of(pid: u32, requested: &HashSet<u64>) -> Self {
        let mut sockets = RequestedSockets::default();
        sockets.read(pid, &UDP_TABLES, requested);
        sockets.ask(pid, requested);
        sockets.read(pid, &TCP_TABLES, requested);
        sockets
    }

    fn read(&mut self, pid: u32, tables: &[Table], requested: &HashSet<u64>) {
        for (table, parse) in tables {
            if self.seen.len() == requested.len() {
                return;
            }
            let file = File::open(format!("/proc/{pid}/net/{table}"));
            match file {
                Ok(file) => self.note(BufReader::new(file), *parse, requested),
                Err(error) => self.is_cut |= error.kind() != ErrorKind::NotFound,
            }
        }
    }

    /// Queries the kernel about local sockets. Their table does not contain what there is to read, but the
    /// kernel's answer may.
    fn ask(&mut self, pid: u32, requested: &HashSet<u64>) {
        if self.seen.len() == requested.len() {
            return;
        }
        match unix_sockets::seen_of(pid, requested) {
            Some(answer) => {
                self.seen.extend(answer.seen);
                self.is_cut |= answer.is_cut;
            }
            None => self.read(pid, &LOCAL_TABLES, requested),
        }
    }

    fn note(&mut self, table: impl BufRead, parse: Parse, requested: &HashSet<u64>) {
        let mut table = table.take(MAX_BYTES);
        let mut line = String::new();
        while self.seen.len() < requested.len() {
            line.clear();
            match table.read_line(&mut line) {
                Ok(0) => break,
                Ok(_) => {
                    let parsed = parse(&line).filter(|line| requested.contains(&line.inode));
                    self.take(parsed);
                }
                Err(_) => {
                    self.is_cut = true;
                    break;
                }
            }
        }
        self.is_cut |= table.limit() == 0;
    }

    fn take(&mut self, line: Option<Line>) {
        let Some(line) = line else {
            return;
        };
        self.seen.insert(line.inode, line.seen);
        if line.unsent > 0 {
            self.unsent.insert(line.inode, line.unsent);
        }
    }

    /// Whether all tables were read to their ends.
    pub fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// The bytes of a TCP socket that are not sent yet, or that the other end has not acknowledged.
    pub fn unsent(&self, inode: u64) -> u64 {
        self.unsent.get(&inode).copied().unwrap_or_default()
    }

    /// The state of this socket. A socket in none of the tables is of another kind and counts as open. If a table was
    /// cut off, the state of such a socket is unknown: `None`.
    pub fn seen(&self, inode: u64) -> Option<Seen> {
        let open = (!self.is_cut).then_some(Seen::Open);
        self.seen.get(&inode).copied().or(open)
    }
}

/// Parses a line of `/proc/net/unix`: the seventh word is the inode. The table contains no amounts.
fn local(line: &str) -> Option<Line> {
    let inode = line.split_whitespace().nth(6)?.parse().ok()?;
    Some(Line {
        inode,
        seen: Seen::Open,
        unsent: 0,
    })
}

/// Parses a line of `/proc/net/tcp` or `/proc/net/udp`: the fourth word is the state, the fifth the amounts to send and
/// to read, the tenth the inode.
fn inet(line: &str, SocketFamily { readable, most }: SocketFamily) -> Option<Line> {
    let words: Vec<&str> = line.split_whitespace().take(11).collect();
    // A line that was cut off, possibly within the inode, has fewer words.
    let [_, _, _, state, queues, _, _, _, _, inode, _] = words[..] else {
        return None;
    };
    let (unsent, to_read) = queues.split_once(':')?;
    let unsent = u64::from_str_radix(unsent, 16).ok()?;
    let to_read = u64::from_str_radix(to_read, 16).ok()?;
    let inode = inode.parse().ok()?;
    let seen = match (state, to_read) {
        (CLOSE_WAIT, _) => Seen::HungUp,
        (state, 0) if readable.contains(&state) => Seen::Empty,
        (state, _) if readable.contains(&state) => Seen::Readable(to_read.min(most)),
        _ => Seen::Open,
    };
    let is_listener = state == LISTENING;
    Some(Line {
        inode,
        seen,
        unsent: if is_listener { 0 } else { unsent },
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn invalid_lines_are_ignored() {
        for line in [
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
            "",
            "0: 0100007F:0016 00000000:0000 0A 00000000:00000000",
            "0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 471",
        ] {
            assert_eq!(inet(line, TCP), None, "{line}");
        }
        for line in [
            "Num RefCount Protocol Flags Type St Inode Path",
            "",
            "a: 3 0 0 1 3",
        ] {
            assert_eq!(local(line), None, "{line}");
        }
    }

    #[test]
    fn reading_stops_at_the_last_requested_socket() {
        let mut table = b"a: 3 0 0 1 3 7\nb: 3 0 0 1 3 8 /run/x\nc: 3 0 0 1 3 9\n".as_slice();
        let mut sockets = RequestedSockets::default();
        sockets.note(&mut table, local, &HashSet::from([8]));
        assert_eq!(sockets.seen, HashMap::from([(8, Seen::Open)]));
        assert_eq!(table, b"c: 3 0 0 1 3 9\n");
    }

    #[test]
    fn local_sockets_are_found_too() {
        let (unix_stream, _other) = UnixStream::pair().expect("a socket pair");
        let requested = HashSet::from([inode_of(&unix_stream)]);
        assert_eq!(
            RequestedSockets::of(std::process::id(), &requested)
                .seen
                .len(),
            1
        );
    }

    fn look(inode: u64) -> Seen {
        let sockets = RequestedSockets::of(std::process::id(), &HashSet::from([inode]));
        sockets.seen(inode).expect("all tables can be read")
    }

    #[test]
    fn a_cut_table_leaves_missing_sockets_unknown() {
        let line = b"a: 3 0 0 1 3 7\n".as_slice();
        let many = line.repeat(MAX_BYTES as usize / line.len() + 1);
        for (mut table, seen) in [(line, Some(Seen::Open)), (many.as_slice(), None)] {
            let mut sockets = RequestedSockets::default();
            sockets.note(&mut table, local, &HashSet::from([7, 8]));
            assert_eq!(sockets.seen(7), Some(Seen::Open));
            assert_eq!(sockets.seen(8), seen);
        }
    }

    fn inode_of(stream: &impl std::os::fd::AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd()));
        let link = link.expect("an open socket").to_string_lossy().into_owned();
        let digits = link.trim_matches(|c: char| !c.is_ascii_digit());
        digits.parse().expect("a number")
    }

    #[test]
    fn tcp_data_and_hang_ups_are_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).expect("a connection");
        let seen = look;
        let listening = inode_of(&listener);
        assert_eq!(seen(listening), Seen::Readable(1), "a pending connection");
        let (mut server, _) = listener.accept().expect("a connection");
        let inode = inode_of(&server);
        assert_eq!((seen(listening), seen(inode)), (Seen::Empty, Seen::Empty));
        client.write_all(b"frame").expect("a connected socket");
        server.peek(&mut [0]).expect("data");
        assert_eq!(seen(inode), Seen::Readable(5));
        server.read_exact(&mut [0; 5]).expect("data");
        assert_eq!(seen(inode), Seen::Empty);
        drop(client);
        assert_eq!(server.read(&mut [0]).expect("the end"), 0);
        assert_eq!(seen(inode), Seen::HungUp);
        assert!(server.as_raw_fd() > 0);
        assert_eq!(seen(0), Seen::Open, "no such socket");
    }

    #[test]
    fn a_pending_datagram_is_seen_at_the_receiver() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(server) = UdpSocket::bind(address) else {
                continue; // without IPv6
            };
            let client = UdpSocket::bind(address).expect("a socket");
            let own_address = server.local_addr().expect("an address");
            client.connect(own_address).expect("a connection");
            let [from, to] = [&client, &server].map(inode_of);
            let seen = look;
            assert_eq!([seen(from), seen(to)], [Seen::Empty; 2]);
            client.send(b"frame").expect("a connected socket");
            server.peek(&mut [0; 8]).expect("data");
            assert_eq!(seen(to), Seen::Readable(1), "{address}");
            assert_eq!(seen(from), Seen::Empty);
            server.recv(&mut [0; 8]).expect("data");
            assert_eq!(seen(to), Seen::Empty);
        }
    }
}
