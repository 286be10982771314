//! The connections of programs. Every message means "read the memory", except a request for memory.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::OwnedFd;

use ctp_nostd::request::MemoryRequest;
use rustix::io::{Errno, read};
use rustix::net::{Shutdown, shutdown};

/// A request for memory. Its process may have hung up since.
#[derive(Debug)]
pub struct PendingRequest<'l> {
    /// Where to send the answer; `None` if the process hung up.
    pub socket: Option<&'l OwnedFd>,
    /// The process, if the kernel knows.
    pub pid: Option<u32>,
    /// The kind of memory requested.
    pub requested: MemoryRequest,
}

/// The connections by number. If a process hung up, one of its closed connections is kept until
/// [`forget`](Connections::forget).
#[derive(Debug, Default)]
pub struct Connections {
    all: BTreeMap<u32, Connection>,
    next: u32,
    /// Processes with a connection that hung up recently.
    hung_up: Vec<u32>,
}

#[derive(Debug)]
struct Connection {
    /// `None` after the process hung up.
    socket: Option<OwnedFd>,
    pid: Option<u32>,
    /// The pending request.
    requested: Option<MemoryRequest>,
    /// A message has arrived. Only the first message can be a request.
    has_message: bool,
}

impl Connections {
    /// The number of the next connection.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Adds a connection.
    pub fn add(&mut self, socket: OwnedFd, pid: Option<u32>) {
        let connection = Connection {
            socket: Some(socket),
            pid,
            requested: None,
            has_message: false,
        };
        self.all.insert(self.next, connection);
        self.next = self.next.wrapping_add(1);
    }

    /// The number of open connections.
    pub fn connected(&self) -> usize {
        let connections = self.all.values();
        connections
            .filter(|connection| connection.socket.is_some())
            .count()
    }

    /// Reads what was sent on this connection.
    pub fn read_pending(&mut self, number: u32) {
        let Some(connection) = self.all.get_mut(&number) else {
            return;
        };
        connection.read_pending();
        if connection.socket.is_none() {
            self.hung_up.extend(connection.pid);
            self.remember_once();
        }
    }

    /// Limits what a process that connects and hangs up in a loop leaves behind.
    fn remember_once(&mut self) {
        let mut remembered = HashSet::new();
        self.all.retain(|_, connection| {
            let mut is_first = || connection.pid.is_some_and(|pid| remembered.insert(pid));
            connection.socket.is_some() || connection.requested.is_some() || is_first()
        });
    }

    /// Reads what was sent on all connections. From then on nothing can be sent on them, so that a process either has
    /// its request read here, or counts itself as unreached.
    pub fn read_last(&mut self) {
        let connections = self.all.values_mut();
        connections.for_each(Connection::read_last);
    }

    /// Whether this process closed all its connections. If such a process connects again, an exec has closed them and
    /// a new image runs.
    pub fn has_hung_up(&mut self, pid: u32) -> bool {
        let mut hung_up = false;
        for connection in self
            .all
            .values_mut()
            .filter(|connection| connection.pid == Some(pid))
        {
            connection.read_pending();
            if connection.socket.is_some() {
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
        self.all.retain(|_, connection| {
            let is_other = connection.pid != Some(pid);
            if !is_other {
                connection.read_pending();
                unanswered.extend(connection.requested);
            }
            is_other
        });
        unanswered
    }

    /// The requests since the last call.
    pub fn requests(&mut self) -> impl Iterator<Item = PendingRequest<'_>> {
        self.all.values_mut().filter_map(|connection| {
            let requested = connection.requested.take()?;
            Some(PendingRequest {
                socket: connection.socket.as_ref(),
                pid: connection.pid,
                requested,
            })
        })
    }
}

impl Connection {
    fn read_last(&mut self) {
        if let Some(socket) = &self.socket {
            // Fails only if the other end is closed already.
            let _ = shutdown(socket, Shutdown::Read);
        }
        self.read_pending();
    }

    fn read_pending(&mut self) {
        let Some(socket) = &self.socket else { return };
        let mut bytes = [0; 4096];
        match read(socket, &mut bytes) {
            Ok(length @ 1..) => {
                if !self.has_message {
                    self.requested = MemoryRequest::from_bytes(&bytes[..length]);
                }
                self.has_message = true;
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
    use std::io::{ErrorKind, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Adds a connection that is closed at the other end.
    fn hangs_up(connections: &mut Connections, pid: Option<u32>) {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let number = connections.next();
        connections.add(ours.into(), pid);
        drop(theirs);
        connections.read_pending(number);
    }

    // CTP-33
    #[test]
    fn closed_connections_are_kept_once_per_process() {
        let mut connections = Connections::default();
        for _ in 0..10 {
            hangs_up(&mut connections, Some(7));
            hangs_up(&mut connections, None);
        }
        hangs_up(&mut connections, Some(8));
        assert_eq!(connections.all.len(), 2);
        assert!(connections.has_hung_up(7) && connections.has_hung_up(8));
        assert_eq!(connections.connected(), 0);
    }

    /// Adds a connection on which a process has sent a request and then hung up.
    fn requested_and_hung_up(
        connections: &mut Connections,
        pid: Option<u32>,
        requested: MemoryRequest,
    ) {
        let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
        ours.set_nonblocking(true).expect("a socket");
        connections.add(ours.into(), pid);
        theirs
            .write_all(requested.bytes())
            .expect("room in the socket");
    }

    // CTP-32
    #[test]
    fn a_request_is_kept_after_the_process_hangs_up() {
        for reads in 0..4 {
            let mut connections = Connections::default();
            requested_and_hung_up(&mut connections, Some(7), MemoryRequest::Own);
            requested_and_hung_up(&mut connections, None, MemoryRequest::OwnOrShared);
            (0..reads).for_each(|_| read_all(&mut connections));
            hangs_up(&mut connections, Some(7));
            connections.read_last();
            let requested: Vec<MemoryRequest> = connections
                .requests()
                .map(|request| request.requested)
                .collect();
            assert_eq!(
                requested,
                [MemoryRequest::Own, MemoryRequest::OwnOrShared],
                "{reads}"
            );
            assert_eq!(connections.requests().count(), 0, "each is returned once");
        }
    }

    fn read_all(connections: &mut Connections) {
        let all = connections.all.values_mut();
        all.for_each(Connection::read_pending);
    }

    // CTP-32
    #[test]
    fn a_request_is_read_last_or_cannot_be_sent() {
        let mut connections = Connections::default();
        let mut theirs = [(); 2].map(|()| {
            let (ours, theirs) = UnixStream::pair().expect("descriptors");
            ours.set_nonblocking(true).expect("a socket");
            connections.add(ours.into(), None);
            theirs
        });
        let request = MemoryRequest::Own.bytes();
        theirs[0].write_all(request).expect("room in the socket");
        connections.read_last();
        let error = theirs[1].write(request).expect_err("shut down");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert_eq!(connections.requests().count(), 1);
    }

    // CTP-32
    #[test]
    fn forgetting_a_process_returns_the_requests() {
        for reads in 0..4 {
            let mut connections = Connections::default();
            requested_and_hung_up(&mut connections, Some(7), MemoryRequest::Own);
            requested_and_hung_up(&mut connections, Some(8), MemoryRequest::Own);
            (0..reads).for_each(|_| read_all(&mut connections));
            assert_eq!(connections.forget(7), [MemoryRequest::Own], "{reads}");
            assert_eq!(connections.forget(7), []);
            connections.read_last();
            assert_eq!(connections.requests().count(), 1, "of the other process");
        }
    }

    // CTP-33
    #[test]
    fn a_process_hangs_up_with_the_last_connection() {
        let mut connections = Connections::default();
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        ours.set_nonblocking(true).expect("a socket");
        connections.add(ours.into(), Some(7));
        hangs_up(&mut connections, Some(7));
        assert_eq!(connections.hung_up(), []);
        drop(theirs);
        connections.read_pending(0);
        assert_eq!(connections.hung_up(), [7]);
        assert_eq!(connections.hung_up(), [], "returned once");
    }
}
