//! What the kernel's tables of TCP sockets say of some of them: is there anything to read?

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use ctp_trace::record::Seen;

/// Sockets of one process, by inode. Of others than these it says nothing.
#[derive(Debug, Default)]
pub(super) struct Sockets(HashMap<u64, Seen>);

/// Bytes of each table that are read: of some ten thousand sockets.
const MOST_BYTES: u64 = 1 << 20;
/// The state of a connection that the other end has closed, as the kernel numbers it.
const CLOSE_WAIT: &str = "08";
/// States in which there can be something to read: that one, connected, and listening.
const READABLE: [&str; 3] = [CLOSE_WAIT, "01", "0A"];

impl Sockets {
    /// Those of this process that are wanted. A table that cannot be read says nothing.
    pub fn of(pid: u32, wanted: &HashSet<u64>) -> Self {
        let mut sockets = Sockets::default();
        for table in ["tcp", "tcp6"] {
            let Ok(file) = File::open(format!("/proc/{pid}/net/{table}")) else {
                continue;
            };
            let lines = BufReader::new(file.take(MOST_BYTES)).lines();
            for line in lines.map_while(Result::ok) {
                sockets.note(&line, wanted);
            }
        }
        sockets
    }

    fn note(&mut self, line: &str, wanted: &HashSet<u64>) {
        if let Some((inode, seen)) = parse(line).filter(|(inode, _)| wanted.contains(inode)) {
            self.0.insert(inode, seen);
        }
    }

    /// What is known of this one.
    pub fn seen(&self, inode: u64) -> Seen {
        self.0.get(&inode).copied().unwrap_or_default()
    }
}

/// A line of `/proc/net/tcp`: the fourth word is the state, the fifth how much waits to be sent and
/// read, the tenth the inode.
fn parse(line: &str) -> Option<(u64, Seen)> {
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
        (state, 0) if READABLE.contains(&state) => Seen::Empty,
        (state, _) if READABLE.contains(&state) => Seen::Readable(to_read),
        _ => Seen::Open,
    };
    Some((inode, seen))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn lines_that_are_none_say_nothing() {
        for line in [
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
            "",
            "0: 0100007F:0016 00000000:0000 0A 00000000:00000000",
            "0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 471",
        ] {
            assert_eq!(parse(line), None, "{line}");
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
        let seen = |inode| Sockets::of(std::process::id(), &HashSet::from([inode])).seen(inode);
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
}
