//! Waits with an epoll for the program's end, doorbells, callers and signals.

mod connections;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::request::MemoryRequest;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};

use crate::connect::rendezvous::{self, Caller};
use connections::Connections;
pub use connections::Request;

/// What happened while waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// A program rang, requested memory, or hung up.
    pub rang: bool,
    /// A program is connecting.
    pub connects: bool,
    /// The program ended.
    pub ended: bool,
    /// A signal arrived.
    pub signalled: bool,
    /// Another process ended.
    pub departed: bool,
    /// A caller of the control socket connects or sends a request.
    pub requested: bool,
}

/// The epoll and what it watches.
#[derive(Debug)]
pub struct Wait {
    epoll: Arc<OwnedFd>,
    connections: Connections,
    /// Watched processes.
    watched: Vec<(u32, OwnedFd)>,
    departed: Vec<u32>,
}

/// A caller whose messages cannot be noticed.
#[derive(Debug)]
pub struct Refused {
    /// Why the connection was closed.
    pub error: io::Error,
    /// The request for memory that was read before.
    pub requested: Option<MemoryRequest>,
}

/// Whether the kernel can run a fence on every processor that runs a traced program.
pub fn can_order() -> bool {
    membarrier_query().contains(MembarrierQuery::GLOBAL_EXPEDITED)
}

/// Runs a fence on every processor that runs a traced program. This is the recorder's half of the ordering of events
/// without a fence, see [`ctp_nostd::doorbell`]: for example, between arming the doorbell and the last pass.
pub fn order() {
    // If this fails, the recorder has not announced this barrier, and programs use their own fences.
    let _ = membarrier(MembarrierCommand::GlobalExpedited);
}

const LISTENER: u64 = 0;
const END: u64 = 1;
const SIGNAL: u64 = 2;
const CONTROL: u64 = 3;
/// With the number of a connection in the low half.
const CONNECTION: u64 = 1 << 32;
/// With a process id in the low half.
const PROCESS: u64 = 2 << 32;
const LOW_HALF: u64 = u32::MAX as u64;

impl Wait {
    /// Creates an epoll that waits for connections and signals.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn new(listener: impl AsFd, signals: impl AsFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = EventFlags::IN;
        epoll::add(&epoll, listener, EventData::new_u64(LISTENER), flags)?;
        epoll::add(&epoll, signals, EventData::new_u64(SIGNAL), flags)?;
        Ok(Wait {
            epoll: Arc::new(epoll),
            connections: Connections::default(),
            watched: Vec::new(),
            departed: Vec::new(),
        })
    }

    /// A descriptor that is readable when something has happened.
    pub fn readable_when_happened(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.epoll)
    }

    /// Also waits for this control socket or control connection.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watch_control(&self, socket: impl AsFd) -> io::Result<()> {
        let data = EventData::new_u64(CONTROL);
        Ok(epoll::add(&self.epoll, socket, data, EventFlags::IN)?)
    }

    /// Also waits for the end of the program.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watch_program(&mut self, program: impl AsFd) -> io::Result<()> {
        let data = EventData::new_u64(END);
        Ok(epoll::add(&self.epoll, program, data, EventFlags::IN)?)
    }

    /// Also waits for messages of this caller.
    ///
    /// # Errors
    /// Messages of the caller cannot be noticed: no descriptor is left, or the kernel's limit of watches is reached.
    /// The connection is closed.
    pub fn add(&mut self, caller: Caller) -> Result<(), Refused> {
        let socket = caller.socket.ok_or(Refused {
            error: Errno::MFILE.into(),
            requested: caller.requested,
        })?;
        let data = EventData::new_u64(CONNECTION | u64::from(self.connections.next()));
        epoll::add(&self.epoll, &socket, data, EventFlags::IN).map_err(|error| Refused {
            error: error.into(),
            requested: rendezvous::last_request(&socket),
        })?;
        self.connections.add(socket, caller.pid);
        Ok(())
    }

    /// Also waits for the end of this process. If it has ended already, it counts as departed.
    pub fn watch(&mut self, pid: u32) {
        if self.watched.iter().any(|(watched, _)| *watched == pid) {
            return;
        }
        match self.handle_of(pid) {
            Ok(handle) => self.watched.push((pid, handle)),
            Err(Errno::SRCH) => self.departed.push(pid),
            // For example, too many files are open. The end of this process is then not noticed.
            Err(_) => {}
        }
    }

    /// A descriptor, watched by the epoll, that becomes readable when the process ends.
    fn handle_of(&self, pid: u32) -> rustix::io::Result<OwnedFd> {
        let process = Pid::from_raw(pid as i32).ok_or(Errno::SRCH)?;
        let handle = pidfd_open(process, PidfdFlags::empty())?;
        let data = EventData::new_u64(PROCESS | u64::from(pid));
        epoll::add(&self.epoll, &handle, data, EventFlags::IN)?;
        Ok(handle)
    }

    /// Stops watching the program, which has ended.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn forget_program(&self, program: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, program)?)
    }

    /// The connections.
    pub fn connections(&mut self) -> &mut Connections {
        &mut self.connections
    }

    /// The number of watched processes.
    pub fn watched(&self) -> usize {
        self.watched.len()
    }

    /// Processes that ended since the last call.
    pub fn departed(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.departed)
    }

    /// Returns what has happened, without waiting.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn poll(&mut self) -> io::Result<Happened> {
        let mut events = Vec::with_capacity(16);
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, spare, Some(&Timespec::default())) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut happened = Happened::default();
        for event in events {
            self.note(event.data.u64(), &mut happened);
        }
        happened.departed = !self.departed.is_empty();
        Ok(happened)
    }

    /// Waits for at most this time until something happens. Before Linux 5.11, waiting in `epoll` itself rounds up to
    /// milliseconds, which is too long for eight slots.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn wait_at_most(&self, at_most: Duration) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: at_most.as_secs() as i64,
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let mut something = [PollFd::new(&self.epoll, PollFlags::IN)];
        match poll(&mut something, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn note(&mut self, what: u64, happened: &mut Happened) {
        match what {
            LISTENER => happened.connects = true,
            END => happened.ended = true,
            SIGNAL => happened.signalled = true,
            CONTROL => happened.requested = true,
            connection if connection & CONNECTION != 0 => {
                happened.rang = true;
                self.connections
                    .read_pending((connection & LOW_HALF) as u32);
            }
            process => self.note_process_end((process & LOW_HALF) as u32),
        }
    }

    fn note_process_end(&mut self, pid: u32) {
        // Closing the handle also removes the process from the epoll.
        self.watched.retain(|(watched, _)| *watched != pid);
        self.departed.push(pid);
    }
}
