//! What the kernel tells of some sockets: is there anything to read? Of TCP and UDP it has tables, of
//! local ones it is asked ([`unix_sockets`]).

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};

use ctp_trace::record::Seen;

use crate::proc::unix_sockets;

/// Sockets of one process, by inode. Of others than these it says nothing.
#[derive(Debug, Default)]
pub struct Sockets {
    seen: HashMap<u64, Seen>,
    /// A table could not be read, or not to its end.
    is_cut: bool,
}

/// Bytes of each table that are read: of some ten thousand sockets.
const MOST_BYTES: u64 = 1 << 20;
/// The state of a connection that the other end has closed, as the kernel numbers it.
const CLOSE_WAIT: &str = "08";

/// What can be in a table of the kernel's.
#[derive(Clone, Copy)]
struct Sort {
    /// States in which there can be something to read.
    readable: &'static [&'static str],
    /// What is told of it at most.
    most: u64,
}

/// In one of these three states: the other end has closed, connected, listening.
const TCP: Sort = Sort {
    readable: &[CLOSE_WAIT, "01", "0A"],
    most: u64::MAX,
};
/// Connected, or not. Of datagrams that wait the kernel tells only how much memory they take.
const UDP: Sort = Sort {
    readable: &["01", "07"],
    most: 1,
};
/// What a line of a table says of the socket with this inode.
type Parse = fn(&str) -> Option<(u64, Seen)>;

/// The name of a table, and what its lines say.
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

impl Sockets {
    /// Those of this process that are wanted. A table that cannot be read says nothing, and none is
    /// read beyond the last one that is wanted.
    ///
    /// Those of TCP come last: for each of them the kernel goes through all of its hash table, which
    /// takes 5 ms on a machine of 24 GB however few there are.
    pub fn of(pid: u32, requested: &HashSet<u64>) -> Self {
        let mut sockets = Sockets::default();
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

    /// Of local sockets the table does not tell what there is to read, but an answer may.
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
        let mut table = table.take(MOST_BYTES);
        let mut line = String::new();
        while self.seen.len() < requested.len() {
            line.clear();
            match table.read_line(&mut line) {
                Ok(0) => break,
                Ok(_) => {
                    let pair = parse(&line).filter(|(inode, _)| requested.contains(inode));
                    self.seen.extend(pair);
                }
                Err(_) => {
                    self.is_cut = true;
                    break;
                }
            }
        }
        self.is_cut |= table.limit() == 0;
    }

    /// What is known of this one. One that is in none of the tables is of another sort, or has been
    /// cut off; nothing is known if not all of them were read.
    pub fn seen(&self, inode: u64) -> Option<Seen> {
        let open = (!self.is_cut).then_some(Seen::Open);
        self.seen.get(&inode).copied().or(open)
    }
}

/// A line of `/proc/net/unix`: the seventh word is the inode. Nothing more is told of those.
fn local(line: &str) -> Option<(u64, Seen)> {
    let inode = line.split_whitespace().nth(6)?.parse().ok()?;
    Some((inode, Seen::Open))
}

/// A line of `/proc/net/tcp` or `/proc/net/udp`: the fourth word is the state, the fifth how much waits
/// to be sent and read, the tenth the inode.
fn inet(line: &str, Sort { readable, most }: Sort) -> Option<(u64, Seen)> {
    let words: Vec<&str> = line.split_whitespace().take(11).collect();
    // One that is cut off, perhaps in this number, has no more words.
    let [_, _, _, state, queues, _, _, _, _, inode, _] = words[..] else {
        return None;
    };
    let (_, to_read) = queues.split_once(':')?;
    let to_read = u64::from_str_radix(to_read, 16).ok()?;
    let inode = inode.parse().ok()?;
    let seen = match (state, to_read) {
        (CLOSE_WAIT, _) => Seen::HungUp,
        (state, 0) if readable.contains(&state) => Seen::Empty,
        (state, _) if readable.contains(&state) => Seen::Readable(to_read.min(most)),
        _ => Seen::Open,
    };
    Some((inode, seen))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn lines_that_are_none_say_nothing() {
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
    fn no_table_is_read_beyond_what_is_wanted() {
        let mut table = b"a: 3 0 0 1 3 7\nb: 3 0 0 1 3 8 /run/x\nc: 3 0 0 1 3 9\n".as_slice();
        let mut sockets = Sockets::default();
        sockets.note(&mut table, local, &HashSet::from([8]));
        assert_eq!(sockets.seen, HashMap::from([(8, Seen::Open)]));
        assert_eq!(table, b"c: 3 0 0 1 3 9\n");
    }

    #[test]
    fn one_that_is_of_another_sort_is_found_too() {
        let (unix_stream, _other) = UnixStream::pair().expect("can be made");
        let requested = HashSet::from([inode_of(&unix_stream)]);
        assert_eq!(Sockets::of(std::process::id(), &requested).seen.len(), 1);
    }

    fn look(inode: u64) -> Seen {
        let sockets = Sockets::of(std::process::id(), &HashSet::from([inode]));
        sockets.seen(inode).expect("all tables can be read")
    }

    #[test]
    fn nothing_is_known_of_one_that_may_stand_where_nobody_has_read() {
        let line = b"a: 3 0 0 1 3 7\n".as_slice();
        let many = line.repeat(MOST_BYTES as usize / line.len() + 1);
        for (mut table, seen) in [(line, Some(Seen::Open)), (many.as_slice(), None)] {
            let mut sockets = Sockets::default();
            sockets.note(&mut table, local, &HashSet::from([7, 8]));
            assert_eq!(sockets.seen(7), Some(Seen::Open));
            assert_eq!(sockets.seen(8), seen);
        }
    }

    fn inode_of(stream: &impl std::os::fd::AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd()));
        let link = link.expect("it is open").to_string_lossy().into_owned();
        let digits = link.trim_matches(|c: char| !c.is_ascii_digit());
        digits.parse().expect("a number")
    }

    #[test]
    fn what_can_be_read_is_seen_and_who_has_hung_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("can be bound");
        let address = listener.local_addr().expect("it has one");
        let mut client = TcpStream::connect(address).expect("it listens");
        let seen = look;
        let listening = inode_of(&listener);
        assert_eq!(seen(listening), Seen::Readable(1), "somebody knocks");
        let (mut server, _) = listener.accept().expect("it does");
        let inode = inode_of(&server);
        assert_eq!((seen(listening), seen(inode)), (Seen::Empty, Seen::Empty));
        client.write_all(b"frame").expect("it is connected");
        server.peek(&mut [0]).expect("it has come");
        assert_eq!(seen(inode), Seen::Readable(5));
        server.read_exact(&mut [0; 5]).expect("they are there");
        assert_eq!(seen(inode), Seen::Empty);
        drop(client);
        assert_eq!(server.read(&mut [0]).expect("the end"), 0);
        assert_eq!(seen(inode), Seen::HungUp);
        assert!(server.as_raw_fd() > 0);
        assert_eq!(seen(0), Seen::Open, "it is none of them");
    }

    #[test]
    fn a_datagram_that_waits_is_seen_by_whom_it_is_for() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(server) = UdpSocket::bind(address) else {
                continue; // without IPv6
            };
            let client = UdpSocket::bind(address).expect("can be bound");
            let own_address = server.local_addr().expect("it has one");
            client.connect(own_address).expect("there is one");
            let [from, to] = [&client, &server].map(inode_of);
            let seen = look;
            assert_eq!([seen(from), seen(to)], [Seen::Empty; 2]);
            client.send(b"frame").expect("it is connected");
            server.peek(&mut [0; 8]).expect("it has come");
            assert_eq!(seen(to), Seen::Readable(1), "{address}");
            assert_eq!(seen(from), Seen::Empty);
            server.recv(&mut [0; 8]).expect("it is there");
            assert_eq!(seen(to), Seen::Empty);
        }
    }
}
