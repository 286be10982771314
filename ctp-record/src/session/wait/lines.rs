//! The connections of programs: what they send means "look", but for the request for memory.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::OwnedFd;

use ctp_nostd::request::MemoryRequest;
use rustix::io::{Errno, read};

/// A request, which may come from a process that hung up since.
#[derive(Debug)]
pub struct Request<'l> {
    /// Where to send the answer; nothing if the process hung up.
    pub socket: Option<&'l OwnedFd>,
    /// The process, if the kernel tells.
    pub pid: Option<u32>,
    /// For what it asked.
    pub requested: MemoryRequest,
}

/// All connections, by number. Of those of a process that hung up one is remembered until the process is
/// forgotten.
#[derive(Debug, Default)]
pub struct Lines {
    all: BTreeMap<u32, Line>,
    next: u32,
    /// Whose connections hung up lately.
    hung_up: Vec<u32>,
}

#[derive(Debug)]
struct Line {
    /// Gone once it hung up.
    socket: Option<OwnedFd>,
    pid: Option<u32>,
    /// What it asked for, until that is taken up.
    requested: Option<MemoryRequest>,
    /// It has sent something.
    spoke: bool,
}

impl Lines {
    /// The number that the next one gets.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// One more.
    pub fn add(&mut self, socket: OwnedFd, pid: Option<u32>) {
        let line = Line {
            socket: Some(socket),
            pid,
            requested: None,
            spoke: false,
        };
        self.all.insert(self.next, line);
        self.next = self.next.wrapping_add(1);
    }

    /// Programs that are connected.
    pub fn connected(&self) -> usize {
        let lines = self.all.values();
        lines.filter(|line| line.socket.is_some()).count()
    }

    /// Reads what was sent on this one.
    pub fn hear(&mut self, number: u32) {
        let Some(line) = self.all.get_mut(&number) else {
            return;
        };
        line.hear();
        if line.socket.is_none() {
            self.hung_up.extend(line.pid);
            self.remember_once();
        }
    }

    /// Who connects and hangs up without end leaves no more than one line.
    fn remember_once(&mut self) {
        let mut remembered = HashSet::new();
        self.all.retain(|_, line| {
            let mut is_first = || line.pid.is_some_and(|pid| remembered.insert(pid));
            line.socket.is_some() || line.requested.is_some() || is_first()
        });
    }

    /// Reads what was sent on all of them.
    pub fn hear_all(&mut self) {
        self.all.values_mut().for_each(Line::hear);
    }

    /// Did this process close all of the connections that it had? When it calls again, another
    /// image runs in it: an exec has closed them.
    pub fn has_hung_up(&mut self, pid: u32) -> bool {
        let mut hung_up = false;
        for line in self.all.values_mut().filter(|line| line.pid == Some(pid)) {
            line.hear();
            if line.socket.is_some() {
                return false;
            }
            hung_up = true;
        }
        hung_up
    }

    /// Processes of which a connection hung up since the last call, and that have no other.
    pub fn hung_up(&mut self) -> Vec<u32> {
        let mut pids = std::mem::take(&mut self.hung_up);
        pids.retain(|pid| self.has_hung_up(*pid));
        pids
    }

    /// The process is no more, or another image runs in it. Gives what it asked for, and gets no
    /// answer to now: that may still lie unread in its connections.
    #[must_use = "nothing is recorded of those that asked in vain"]
    pub fn forget(&mut self, pid: u32) -> Vec<MemoryRequest> {
        let mut unanswered = Vec::new();
        self.all.retain(|_, line| {
            let is_other = line.pid != Some(pid);
            if !is_other {
                line.hear();
                unanswered.extend(line.requested);
            }
            is_other
        });
        unanswered
    }

    /// What was asked for since the last call.
    pub fn requests(&mut self) -> impl Iterator<Item = Request<'_>> {
        self.all.values_mut().filter_map(|line| {
            let requested = line.requested.take()?;
            Some(Request {
                socket: line.socket.as_ref(),
                pid: line.pid,
                requested,
            })
        })
    }
}

impl Line {
    fn hear(&mut self) {
        let Some(socket) = &self.socket else { return };
        let mut bytes = [0; 4096];
        match read(socket, &mut bytes) {
            Ok(heard @ 1..) => {
                if !self.spoke {
                    self.requested = MemoryRequest::from_bytes(&bytes[..heard]);
                }
                self.spoke = true;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Without a word, a process that hung up has not asked, and is not counted. Plain v1 peers do
            // so whose events came while the recorder looked anyway. A process that is killed between
            // its connection and its request does so too, but nothing of it is missing: it asks
            // right after it has connected, and before the first event of its own.
            Ok(_) | Err(_) => self.socket = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// One that this process makes, and drops its end of.
    fn hangs_up(lines: &mut Lines, pid: Option<u32>) {
        let (ours, theirs) = UnixStream::pair().expect("a pair can be made");
        let number = lines.next();
        lines.add(ours.into(), pid);
        drop(theirs);
        lines.hear(number);
    }

    // CTP-33
    #[test]
    fn of_connections_that_hung_up_one_is_remembered_of_each_process() {
        let mut lines = Lines::default();
        for _ in 0..10 {
            hangs_up(&mut lines, Some(7));
            hangs_up(&mut lines, None);
        }
        hangs_up(&mut lines, Some(8));
        assert_eq!(lines.all.len(), 2);
        assert!(lines.has_hung_up(7) && lines.has_hung_up(8));
        assert_eq!(lines.connected(), 0);
    }

    /// The recorder's end of a connection on which a process has asked, and then hung up.
    fn requested_and_hung_up(lines: &mut Lines, pid: Option<u32>, requested: MemoryRequest) {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair can be made");
        ours.set_nonblocking(true).expect("it can be");
        lines.add(ours.into(), pid);
        theirs.write_all(requested.bytes()).expect("there is room");
    }

    // CTP-32
    #[test]
    fn a_request_is_heard_of_whatever_the_process_does_next() {
        for looks in 0..4 {
            let mut lines = Lines::default();
            requested_and_hung_up(&mut lines, Some(7), MemoryRequest::Own);
            requested_and_hung_up(&mut lines, None, MemoryRequest::OwnOrShared);
            (0..looks).for_each(|_| lines.hear_all());
            hangs_up(&mut lines, Some(7));
            lines.hear_all();
            let requested: Vec<MemoryRequest> =
                lines.requests().map(|request| request.requested).collect();
            assert_eq!(
                requested,
                [MemoryRequest::Own, MemoryRequest::OwnOrShared],
                "{looks}"
            );
            assert_eq!(lines.requests().count(), 0, "each is heard of once");
        }
    }

    // CTP-32
    #[test]
    fn a_request_of_a_process_that_is_forgotten_is_given_back() {
        for looks in 0..4 {
            let mut lines = Lines::default();
            requested_and_hung_up(&mut lines, Some(7), MemoryRequest::Own);
            requested_and_hung_up(&mut lines, Some(8), MemoryRequest::Own);
            (0..looks).for_each(|_| lines.hear_all());
            assert_eq!(lines.forget(7), [MemoryRequest::Own], "{looks}");
            assert_eq!(lines.forget(7), []);
            lines.hear_all();
            assert_eq!(lines.requests().count(), 1, "of the other process");
        }
    }

    // CTP-33
    #[test]
    fn a_process_has_hung_up_once_its_last_connection_has() {
        let mut lines = Lines::default();
        let (ours, theirs) = UnixStream::pair().expect("a pair can be made");
        ours.set_nonblocking(true).expect("it can be");
        lines.add(ours.into(), Some(7));
        hangs_up(&mut lines, Some(7));
        assert_eq!(lines.hung_up(), []);
        drop(theirs);
        lines.hear(0);
        assert_eq!(lines.hung_up(), [7]);
        assert_eq!(lines.hung_up(), [], "it is told once");
    }
}
