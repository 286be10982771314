//! Whether the sockets of a process hold bytes or connections that nothing takes.
//!
//! A busy program has some unread bytes at any time, so only bytes that stay are counted.

use std::collections::{HashMap, HashSet};

use ctp_trace::record::{Nanos, ProcessId, Seen, Sockets as Observation};

use crate::proc::sockets::{RequestedSockets, inodes_of};

/// Bytes or connections that stay for this long count as not taken.
const STAYS: Nanos = Nanos(1_000_000_000);

/// Fewer unsent bytes are ignored: they do not block a writer, and perhaps only their acknowledgements are delayed.
const MIN_UNSENT_BYTES: u64 = 2048;

/// The observations of the sockets of all processes.
#[derive(Debug, Default)]
pub struct Drained {
    processes: HashMap<ProcessId, DrainedProcess>,
}

/// The observations of a process.
#[derive(Debug)]
struct DrainedProcess {
    first: Nanos,
    to_read: Amounts,
    to_send: Amounts,
    /// The latest record said that all sockets are drained.
    was_drained: bool,
}

/// What each socket held at the latest observation.
#[derive(Debug, Default)]
struct Amounts(HashMap<u64, Amount>);

#[derive(Clone, Copy, Debug)]
struct Amount {
    /// Since when nothing was taken, as far as observations show.
    since: Nanos,
    amount: u64,
}

impl Drained {
    /// Whether some socket held something at the latest observation. The sooner the next observation follows, the more
    /// likely it shows that the program takes what it receives.
    pub fn needs_second(&self) -> bool {
        self.processes.values().any(DrainedProcess::holds_any)
    }

    /// Observes the sockets of a process. Returns a record while all sockets are drained, and one more when that is
    /// over. The first record comes after a second at the earliest.
    pub fn observe(&mut self, process: ProcessId, pid: u32, at: Nanos) -> Option<Observation> {
        let inodes = inodes_of(pid);
        let sockets = inodes
            .as_ref()
            .map(|inodes| RequestedSockets::of(pid, inodes));
        let Some((inodes, sockets)) = inodes
            .as_ref()
            .zip(sockets)
            // A process that is about to end has no descriptors any more.
            .filter(|(inodes, sockets)| !inodes.is_empty() && sockets.is_whole())
        else {
            self.processes.remove(&process);
            return None;
        };
        let known = self
            .processes
            .entry(process)
            .or_insert_with(|| DrainedProcess {
                first: at,
                to_read: Amounts::default(),
                to_send: Amounts::default(),
                was_drained: false,
            });
        known.note(inodes, &sockets, at);
        known.record(process, at)
    }
}

impl DrainedProcess {
    /// Whether some socket held something at the latest observation, and must be observed again soon.
    fn holds_any(&self) -> bool {
        !self.to_read.0.is_empty() || !self.to_send.0.is_empty()
    }

    fn note(&mut self, inodes: &HashSet<u64>, sockets: &RequestedSockets, at: Nanos) {
        let to_read = inodes.iter().map(|inode| match sockets.seen(*inode) {
            Some(Seen::Readable(amount)) => (*inode, amount),
            _ => (*inode, 0),
        });
        let to_send = inodes.iter().map(|inode| match sockets.unsent(*inode) {
            bytes @ MIN_UNSENT_BYTES.. => (*inode, bytes),
            _ => (*inode, 0),
        });
        self.to_read.note(to_read.collect(), at);
        self.to_send.note(to_send.collect(), at);
    }

    fn record(&mut self, process: ProcessId, at: Nanos) -> Option<Observation> {
        let observation = Observation {
            process,
            at,
            undrained: self.to_read.staying(at),
            unsent: self.to_send.staying(at),
        };
        let is_drained = observation.undrained == 0 && observation.unsent == 0;
        let is_old_enough = STAYS <= self.first.until(at);
        let was_drained = std::mem::replace(&mut self.was_drained, is_drained && is_old_enough);
        (is_old_enough && (is_drained || was_drained)).then_some(observation)
    }
}

impl Amounts {
    /// Takes the present amount of each socket.
    fn note(&mut self, present: Vec<(u64, u64)>, at: Nanos) {
        let amounts = present.into_iter().filter(|(_, amount)| 0 < *amount);
        self.0 = amounts
            .map(|(inode, amount)| {
                let before = self.0.get(&inode).filter(|before| before.amount <= amount);
                let since = before.map_or(at, |before| before.since);
                (inode, Amount { since, amount })
            })
            .collect();
    }

    /// The number of sockets that have held something for `STAYS` or longer.
    fn staying(&self, at: Nanos) -> u64 {
        let amounts = self.0.values();
        amounts
            .filter(|amount| STAYS <= amount.since.until(at))
            .count() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::proc::descriptor::Descriptor;

    fn at(seconds: u64) -> Nanos {
        Nanos(seconds * 1_000_000_000)
    }

    // CT-15
    #[test]
    fn only_what_stays_is_counted() {
        let mut amounts = Amounts::default();
        amounts.note(vec![(7, 5), (8, 0), (9, 3)], at(1));
        assert_eq!(amounts.staying(at(1)), 0);
        amounts.note(vec![(7, 5), (8, 4), (9, 2)], at(2));
        assert_eq!(amounts.staying(at(2)), 1, "9 was drained, 8 is new");
        amounts.note(vec![(7, 6), (8, 4), (9, 2)], at(3));
        assert_eq!(amounts.staying(at(3)), 3);
        amounts.note(vec![(7, 6)], at(4));
        assert_eq!(amounts.staying(at(4)), 1, "closed");
    }

    // CT-15
    #[test]
    fn unread_bytes_and_waiting_callers_are_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).expect("a connection");
        let (mut server, _) = listener.accept().expect("a connection");
        let inodes: HashSet<u64> = [&listener as &dyn std::os::fd::AsRawFd, &server, &client]
            .map(|socket| inode_of(socket.as_raw_fd()))
            .into();
        let mut process = DrainedProcess {
            first: at(0),
            to_read: Amounts::default(),
            to_send: Amounts::default(),
            was_drained: false,
        };
        let mut observe = |seconds| {
            let sockets = RequestedSockets::of(std::process::id(), &inodes);
            process.note(&inodes, &sockets, at(seconds));
            process
                .record(ProcessId(1), at(seconds))
                .map(|observation| observation.undrained)
        };
        assert_eq!([observe(0), observe(1)], [None, Some(0)]);
        client.write_all(b"frame").expect("a connected socket");
        server.peek(&mut [0]).expect("data");
        let caller = TcpStream::connect(address).expect("a connection");
        assert_eq!([observe(2), observe(3)], [Some(0), Some(2)]);
        assert_eq!(observe(4), None, "recorded once");
        server.read_exact(&mut [0; 5]).expect("data");
        drop((listener.accept(), caller));
        assert_eq!(observe(5), Some(0));
    }

    fn inode_of(fd: std::os::fd::RawFd) -> u64 {
        let link = format!("/proc/self/fd/{fd}");
        match Descriptor::at(std::path::Path::new(&link)) {
            Ok(Descriptor::Socket(inode)) => inode,
            other => panic!("{other:?}"),
        }
    }

    // CT-15
    #[test]
    fn a_process_that_has_ended_is_not_drained() {
        let mut child = std::process::Command::new("true").spawn().expect("a child");
        let status = format!("/proc/{}/status", child.id());
        let is_over = || std::fs::read_to_string(&status).is_ok_and(|text| text.contains("Z (zom"));
        while !is_over() {
            std::thread::yield_now();
        }
        let mut drained = Drained::default();
        for seconds in 1..4 {
            assert_eq!(drained.observe(ProcessId(1), child.id(), at(seconds)), None);
        }
        child.wait().expect("the child has ended");
    }

    #[test]
    fn a_process_that_cannot_be_read_is_left_out() {
        let mut drained = Drained::default();
        assert_eq!(drained.observe(ProcessId(1), u32::MAX, at(1)), None);
    }
}
