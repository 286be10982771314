//! The memories of a recording: the first, which every program finds through its environment, and a
//! memory for each further process. Separate memories keep a process from damaging another's records.

mod account;
mod exited;
mod frames;
mod held_memory;
mod idle;
mod long;
mod orders;
mod orphans;
mod progress;
mod view;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use ctp_nostd::aggregate::{MODE_FLIGHT, MODE_SUMMARY};
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::doorbell;
use ctp_nostd::layout::Header;
use ctp_nostd::request::{self, MemoryRequest};
use ctp_trace::record::Nanos;

use crate::control::Orders;
use crate::harvest::{Harvest, Sink};
use crate::memory::clock::monotonic_ns;
use crate::memory::drainer::Drainer;
use crate::memory::shm::Memory;
use crate::output::backlog::Backlog;
use crate::proc::processes::{Processes, Writers};
use crate::session::pace::PassOutcome;
use account::MemoryCounts;
use held_memory::HeldMemory;
pub use long::{StationPlace, time_before};
use orphans::OrphanHeaders;
pub use view::MemoryView;

/// All memories of a recording and their readers.
#[derive(Debug)]
pub struct MemorySet {
    plan: Plan,
    recording: Recording,
    backlog: Backlog,
    /// Copies records out of lanes while this thread is busy. Set if there are lanes to drain.
    drainer: Option<Drainer>,
    held: Vec<HeldMemory>,
    /// The memories of exited processes of which a flight recorder's snapshot may still need records.
    left: VecDeque<MemoryView>,
    /// What was read of memories that were given up.
    given_up: MemoryCounts,
    /// Headers in which forks of exited processes may still count themselves.
    orphans: OrphanHeaders,
    /// Time of the latest record in memories that were given up.
    latest_given_up: Nanos,
    /// The orders for a process that starts later: which events are recorded.
    orders: Orders,
    /// The number of changes of the filter.
    generation: u32,
}

/// Memories that a process can get: each copy of the probe linked into it needs its own. A faulty process could
/// request memories without end.
const MAX_MEMORIES_PER_PROCESS: usize = 4;

impl MemorySet {
    /// Creates the first memory. Later memories have the same plan.
    ///
    /// # Errors
    /// Those of the kernel: no memory, too many files.
    pub fn open(
        plan: Plan,
        recording: Recording,
        inherit: bool,
        backlog: Backlog,
    ) -> io::Result<Self> {
        let memory = Memory::create(plan, &recording, inherit)?;
        let is_drained = 0 < plan.lanes && recording.mode != MODE_FLIGHT;
        let drainer = is_drained.then(Drainer::start);
        let mut memories = MemorySet {
            plan,
            recording,
            backlog,
            drainer: drainer.transpose()?,
            held: Vec::new(),
            left: VecDeque::new(),
            given_up: MemoryCounts::default(),
            orphans: OrphanHeaders::default(),
            latest_given_up: Nanos::default(),
            orders: Orders::default(),
            generation: 0,
        };
        memories.hold(memory, None);
        Ok(memories)
    }

    fn hold(&mut self, memory: Memory, only_pid: Option<u32>) {
        let harvest = Harvest::clocked(self.recording.monotonic_ns, monotonic_ns);
        let harvest = match self.recording.mode {
            MODE_SUMMARY => harvest.summing_up(self.recording.bins),
            MODE_FLIGHT => harvest
                .summing_up(self.recording.bins)
                .in_flight(self.recording.memory),
            _ => harvest,
        };
        let mut held = HeldMemory {
            memory: Arc::new(memory),
            harvest: harvest.within(self.backlog.clone()),
            number: self.recording.memory,
            attached: Vec::new(),
            only_pid,
            requested: None,
            orders: self.orders,
        };
        if let Some(drainer) = &self.drainer {
            drainer.add(&held.memory, &held.harvest.share_copies());
        }
        self.held.push(held);
        if self.orders.are_in_force() {
            self.apply_orders();
        }
    }

    /// The memory that programs find through their environment.
    pub fn first(&self) -> &Memory {
        &self
            .held
            .first()
            .expect("the first memory is never given up")
            .memory
    }

    /// The inodes by which the memories are found in the maps of processes.
    pub fn inodes(&self) -> impl Iterator<Item = u64> {
        self.held.iter().map(|held| held.memory.inode())
    }

    /// Creates a memory for this process alone.
    ///
    /// # Errors
    /// Those of the kernel: no memory, too many files. Also if the process, or the recording, has too many memories.
    pub fn grant(&mut self, pid: u32, requested: MemoryRequest) -> io::Result<&Memory> {
        let has = self.held.iter().filter(|held| held.only_pid == Some(pid));
        if MAX_MEMORIES_PER_PROCESS <= has.count() || request::MAX_REGIONS <= self.recording.memory
        {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.recording.memory += 1;
        let memory = Memory::create(self.plan, &self.recording, false)?;
        self.hold(memory, Some(pid));
        let held = self.held.last_mut().expect("a memory was just added");
        held.requested = Some(requested);
        Ok(&held.memory)
    }

    /// Removes the memory granted last, which could not be sent to its process.
    pub fn revoke_last(&mut self) {
        self.held.pop_if(|held| held.only_pid.is_some());
    }

    /// Reads what is new in all memories.
    pub fn pass(&mut self, processes: &mut Processes, sink: &mut dyn Sink) -> PassOutcome {
        let mut all = PassOutcome::default();
        for held in &mut self.held {
            all += held.pass(processes, sink);
        }
        all
    }

    /// Ends the recording: later events do not belong to it. A flight recorder's snapshots end at a time of
    /// their own, so it needs no end.
    pub fn stop(&mut self) {
        if self.recording.mode == MODE_FLIGHT {
            return;
        }
        for held in &mut self.held {
            held.harvest.stop(&held.memory.region());
        }
    }

    /// Reads the rest and closes every account. A flight recorder's accounts stay open.
    pub fn finish(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        if self.recording.mode == MODE_FLIGHT {
            self.pass(processes, sink);
            return;
        }
        for held in &mut self.held {
            held.finish(processes, sink);
        }
    }

    /// Introduces the coroutines that had no event by the end of a flight recorder's recording.
    pub fn introduce_silent_peers(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        for held in &mut self.held {
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            held.harvest
                .introduce_silent_peers(&region, &mut writers, sink);
        }
    }

    /// Announces that the recorder goes to sleep, so that probes ring the doorbell.
    pub fn arm(&self) {
        for header in self.headers() {
            doorbell::arm(header.tracer_sleeping());
        }
        self.drainer.iter().for_each(Drainer::pause);
    }

    /// Whether all memories can be left unread for a short time.
    pub fn can_be_left_unread(&self) -> bool {
        let mut held = self.held.iter();
        held.all(|held| held.harvest.can_be_left_unread(&held.memory.region()))
    }

    /// Whether a program has ever used a station or a lane of any memory.
    pub fn were_used(&self) -> bool {
        let mut held = self.held.iter();
        held.any(|held| Harvest::was_used(&held.memory.region()))
    }

    /// Announces that the recorder sleeps until a deadline, and that probes ring only at a shortage.
    pub fn arm_for_shortage(&self) {
        for header in self.headers() {
            doorbell::arm_for_shortage(header.tracer_sleeping());
        }
        self.drainer.iter().for_each(Drainer::pause);
    }

    /// Has the drainer end its rest when this descriptor becomes readable, because a program rings.
    pub fn listen_to(&self, doorbell: Arc<OwnedFd>) {
        if let Some(drainer) = &self.drainer {
            drainer.listen_to(doorbell);
        }
    }

    /// Has lanes drained while this thread is busy.
    pub fn start_draining(&self) {
        self.drainer.iter().for_each(Drainer::resume);
    }

    /// Has the drainer prefault pages of lanes, which it does not do by itself while it rests. Unless this is
    /// urgent, it has no effect shortly after the last time.
    pub fn prefault(&self, is_urgent: bool) {
        if let Some(drainer) = &self.drainer {
            drainer.prefault(is_urgent);
        }
    }

    /// Announces that the recorder is awake. Returns true if no doorbell was rung.
    pub fn disarm(&self) -> bool {
        // Disarms all doorbells, even after one that was rung.
        self.headers()
            .map(|header| doorbell::disarm(header.tracer_sleeping()))
            .fold(true, |silent, was_silent| silent & was_silent)
    }

    /// Reads what is new although no doorbell was rung, and counts a rescue if there are events. Only the
    /// timer tick finds such events.
    pub fn rescue(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        for held in &mut self.held {
            if held.pass(processes, sink).events > 0 {
                held.header().count_rescue();
            }
        }
    }

    /// The headers of all memories.
    pub fn headers(&self) -> impl Iterator<Item = &Header> {
        self.held.iter().map(HeldMemory::header)
    }
}
