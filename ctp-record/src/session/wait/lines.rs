//! The connections of programs. Every message means "read the memory", except a request for memory.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::OwnedFd;

use ctp_nostd::request::MemoryRequest;
use rustix::io::{Errno, read};

/// A request for memory. Its process may have hung up since.
#[derive(Debug)]
pub struct Request<'l> {
    /// Where to send the answer; `None` if the process hung up.
    pub socket: Option<&'l OwnedFd>,
    /// The process, if the kernel knows.
    pub pid: Option<u32>,
    /// The kind of memory requested.
    pub requested: MemoryRequest,
}

/// All connections by number. After a process hung up, one of its connections is remembered until the process is
/// forgotten.
#[derive(Debug, Default)]
pub struct Lines {
    all: BTreeMap<u32, Line>,
    next: u32,
    /// Processes with a connection that hung up recently.
    hung_up: Vec<u32>,
}

#[derive(Debug)]
struct Line {
    /// `None` after the process hung up.
    socket: Option<OwnedFd>,
    pid: Option<u32>,
    /// The pending request.
    requested: Option<MemoryRequest>,
    /// A message has arrived.
    spoke: bool,
}

impl Lines {
    /// The number of the next connection.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Adds a connection.
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

    /// The number of open connections.
    pub fn connected(&self) -> usize {
        let lines = self.all.values();
        lines.filter(|line| line.socket.is_some()).count()
    }

    /// Reads what was sent on this connection.
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

    /// Limits what a process that connects and hangs up in a loop leaves behind.
    fn remember_once(&mut self) {
        let mut remembered = HashSet::new();
        self.all.retain(|_, line| {
            let mut is_first = || line.pid.is_some_and(|pid| remembered.insert(pid));
            line.socket.is_some() || line.requested.is_some() || is_first()
        });
    }

    /// Reads what was sent on all connections.
    pub fn hear_all(&mut self) {
        self.all.values_mut().for_each(Line::hear);
    }

    /// Whether this process closed all its connections. If such a process connects again, an exec has closed them and
    /// a new image runs.
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

    /// Processes with a connection that hung up since the last call, and without an open connection.
    pub fn hung_up(&mut self) -> Vec<u32> {
        let mut pids = std::mem::take(&mut self.hung_up);
        pids.retain(|pid| self.has_hung_up(*pid));
        pids
    }

    /// Forgets a process that has ended or was replaced by exec. Returns its unanswered requests, including those
    /// still unread in its connections.
    #[must_use = "unanswered requests are counted"]
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

    /// The requests since the last call.
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
            // A process that hung up without a message has not requested memory and is not counted. Examples are
            // v1 programs, whose events came while the recorder was reading anyway, and a process killed
            // right after connecting: a probe sends its request before the first event, so nothing is missing.
            Ok(_) | Err(_) => self.socket = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Adds a connection that is closed at the other end.
    fn hangs_up(lines: &mut Lines, pid: Option<u32>) {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let number = lines.next();
        lines.add(ours.into(), pid);
        drop(theirs);
        lines.hear(number);
    }

    // CTP-33
    #[test]
    fn closed_connections_are_kept_once_per_process() {
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

    /// Adds a connection on which a process has sent a request and then hung up.
    fn requested_and_hung_up(lines: &mut Lines, pid: Option<u32>, requested: MemoryRequest) {
        let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
        ours.set_nonblocking(true).expect("a socket");
        lines.add(ours.into(), pid);
        theirs
            .write_all(requested.bytes())
            .expect("room in the socket");
    }

    // CTP-32
    #[test]
    fn a_request_is_kept_after_the_process_hangs_up() {
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
            assert_eq!(lines.requests().count(), 0, "each is returned once");
        }
    }

    // CTP-32
    #[test]
    fn forgetting_a_process_returns_the_requests() {
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
    fn a_process_hangs_up_with_the_last_connection() {
        let mut lines = Lines::default();
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        ours.set_nonblocking(true).expect("a socket");
        lines.add(ours.into(), Some(7));
        hangs_up(&mut lines, Some(7));
        assert_eq!(lines.hung_up(), []);
        drop(theirs);
        lines.hear(0);
        assert_eq!(lines.hung_up(), [7]);
        assert_eq!(lines.hung_up(), [], "returned once");
    }
}
