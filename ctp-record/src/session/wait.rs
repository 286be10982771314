//! Waits with an epoll for doorbells, callers and signals, and for the ends of the program and of other processes.

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
pub use connections::PendingRequest;

/// What happened while waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// A program rang, requested memory, or hung up.
    pub has_ring: bool,
    /// A program is connecting.
    pub has_connection: bool,
    /// The program ended.
    pub has_program_end: bool,
    /// A signal arrived.
    pub has_signal: bool,
    /// Another process ended.
    pub has_process_end: bool,
    /// A client connects to the control socket, or sends a request there.
    pub has_control_request: bool,
}

/// The epoll and what it watches.
#[derive(Debug)]
pub struct WaitSet {
    epoll: Arc<OwnedFd>,
    connections: Connections,
    /// The watched processes, each with a descriptor that becomes readable when the process ends.
    watched: Vec<(u32, OwnedFd)>,
    /// Processes that ended since the last call of [`WaitSet::take_departed`].
    departed: Vec<u32>,
}

/// A caller with messages that cannot be noticed.
#[derive(Debug)]
pub struct RefusedCaller {
    /// Why the connection was closed.
    pub error: io::Error,
    /// The request for memory that was read before the connection was closed, if any.
    pub requested: Option<MemoryRequest>,
}

/// Whether the kernel can run a fence on every processor that runs a traced program.
pub fn can_fence_programs() -> bool {
    membarrier_query().contains(MembarrierQuery::GLOBAL_EXPEDITED)
}

/// Runs a fence on every processor that runs a traced program. The probe records events without a fence of its own, and
/// this is the recorder's half of their ordering: for example, between arming the doorbell and the last pass. See
/// [`ctp_nostd::doorbell`].
pub fn fence_programs() {
    // If this fails, the recorder has not announced this barrier, and programs use their own fences.
    let _ = membarrier(MembarrierCommand::GlobalExpedited);
}

const LISTENER: u64 = 0;
const END: u64 = 1;
const SIGNAL: u64 = 2;
const CONTROL: u64 = 3;
/// The event data of a connection, with its number in the low half.
const CONNECTION: u64 = 1 << 32;
/// The event data of a process, with its id in the low half.
const PROCESS: u64 = 2 << 32;
const LOW_HALF: u64 = u32::MAX as u64;

impl WaitSet {
    /// Creates an epoll that waits for connections and signals.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn new(listener: impl AsFd, signals: impl AsFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = EventFlags::IN;
        epoll::add(&epoll, listener, EventData::new_u64(LISTENER), flags)?;
        epoll::add(&epoll, signals, EventData::new_u64(SIGNAL), flags)?;
        Ok(WaitSet {
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
    pub fn add(&mut self, caller: Caller) -> Result<(), RefusedCaller> {
        let socket = caller.socket.ok_or(RefusedCaller {
            error: Errno::MFILE.into(),
            requested: caller.requested,
        })?;
        let data = EventData::new_u64(CONNECTION | u64::from(self.connections.next()));
        epoll::add(&self.epoll, &socket, data, EventFlags::IN).map_err(|error| RefusedCaller {
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
        match self.watch_end_of(pid) {
            Ok(handle) => self.watched.push((pid, handle)),
            Err(Errno::SRCH) => self.departed.push(pid),
            // For example, too many files are open. The end of this process is then not noticed.
            Err(_) => {}
        }
    }

    /// Opens a descriptor that becomes readable when the process ends, and watches it.
    fn watch_end_of(&self, pid: u32) -> rustix::io::Result<OwnedFd> {
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

    /// Returns the processes that ended since the last call.
    pub fn take_departed(&mut self) -> Vec<u32> {
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
        happened.has_process_end = !self.departed.is_empty();
        Ok(happened)
    }

    /// Waits until something happens, but no longer than this. Waits with `poll`: before Linux 5.11, a wait of the epoll
    /// itself is rounded up to milliseconds, in which more events may happen than a station has slots.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn wait_at_most(&self, at_most: Duration) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: at_most.as_secs() as i64,
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let mut descriptors = [PollFd::new(&self.epoll, PollFlags::IN)];
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes the event with this data.
    fn note(&mut self, data: u64, happened: &mut Happened) {
        match data {
            LISTENER => happened.has_connection = true,
            END => happened.has_program_end = true,
            SIGNAL => happened.has_signal = true,
            CONTROL => happened.has_control_request = true,
            connection if connection & CONNECTION != 0 => {
                happened.has_ring = true;
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
