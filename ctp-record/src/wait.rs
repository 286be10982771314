//! Where the recorder waits: one epoll for the program's end, its bells, and signals.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};

use crate::rendezvous::Caller;

/// What happened while waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Somebody rang, connected, or hung up.
    pub rang: bool,
    /// Somebody connects.
    pub knocked: bool,
    /// The program ended.
    pub ended: bool,
    /// A signal arrived.
    pub signalled: bool,
}

/// What to wait for.
#[derive(Debug)]
pub struct Wait {
    epoll: OwnedFd,
    callers: Vec<Option<OwnedFd>>,
}

/// Can this kernel run a fence on every processor that runs a traced program?
pub fn can_order() -> bool {
    membarrier_query().contains(MembarrierQuery::GLOBAL_EXPEDITED)
}

/// The recorder's half of an event without a fence, see [`ctp_nostd::doorbell`]: between the
/// announcement of sleep and the last look.
pub fn order() {
    // Where it fails it was not declared either, and programs use fences of their own.
    let _ = membarrier(MembarrierCommand::GlobalExpedited);
}

const KNOCK: u64 = 0;
const END: u64 = 1;
const SIGNAL: u64 = 2;
const FIRST_CALLER: u64 = 3;

impl Wait {
    /// For connections, the end of the program, and signals.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn new(listener: impl AsFd, program: impl AsFd, signals: impl AsFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = EventFlags::IN;
        epoll::add(&epoll, listener, EventData::new_u64(KNOCK), flags)?;
        epoll::add(&epoll, program, EventData::new_u64(END), flags)?;
        epoll::add(&epoll, signals, EventData::new_u64(SIGNAL), flags)?;
        Ok(Wait {
            epoll,
            callers: Vec::new(),
        })
    }

    /// From now on also for this one's bell.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn add(&mut self, caller: Caller) -> io::Result<()> {
        let data = EventData::new_u64(FIRST_CALLER + self.callers.len() as u64);
        epoll::add(&self.epoll, &caller.socket, data, EventFlags::IN)?;
        self.callers.push(Some(caller.socket));
        Ok(())
    }

    /// Programs that are connected.
    pub fn connected(&self) -> usize {
        self.callers.iter().flatten().count()
    }

    /// Waits for at most so long.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn wait(&mut self, at_most: Duration) -> io::Result<Happened> {
        if !at_most.is_zero() {
            self.sit_out(at_most)?;
        }
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
        Ok(happened)
    }

    /// Waits until something happened. Waiting in `epoll` itself would round up to milliseconds
    /// (before Linux 5.11), which is too long for eight slots.
    fn sit_out(&self, at_most: Duration) -> io::Result<()> {
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
            KNOCK => happened.knocked = true,
            END => happened.ended = true,
            SIGNAL => happened.signalled = true,
            caller => {
                happened.rang = true;
                self.empty((caller - FIRST_CALLER) as usize);
            }
        }
    }

    /// Reads what a caller sent; the bytes mean nothing but "look". Forgets one that hung up.
    fn empty(&mut self, index: usize) {
        let Some(Some(socket)) = self.callers.get(index) else {
            return;
        };
        let mut bytes = [0; 64];
        match read(socket, &mut bytes) {
            Ok(1..) | Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(0) | Err(_) => self.callers[index] = None,
        }
    }
}
