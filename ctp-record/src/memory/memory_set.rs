//! The memories of a recording: the first, which every program finds through its environment, and a
//! memory for each further process. Separate memories keep a process from damaging another's records.

mod account;
mod frames;
mod long;
mod orders;
mod orphans;
mod view;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::aggregate::{MODE_FLIGHT, MODE_SUMMARY};
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::doorbell;
use ctp_nostd::layout::{Header, Station};
use ctp_nostd::request::{self, MemoryRequest};
use ctp_trace::record::{Control, Nanos, ProcessId};

use crate::control::Orders;
use crate::harvest::{Harvest, IdleReport, Sink, Totals};
use crate::memory::clock::monotonic_ns;
use crate::memory::drainer::Drainer;
use crate::memory::shm::Memory;
use crate::output::backlog::Backlog;
use crate::proc::processes::{Processes, Writers};
use crate::session::pace::PassOutcome;
use account::MemoryCounts;
pub use long::StationPlace;
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
    held: Vec<Held>,
    /// The memories of exited processes of which a flight recorder's snapshot may still need records.
    left: VecDeque<MemoryView>,
    /// What was read of memories that were given up.
    given_up: MemoryCounts,
    /// Headers in which forks of exited processes may still count themselves.
    orphans: OrphanHeaders,
    /// Time of the latest event in memories that were given up.
    latest_given_up: Nanos,
    /// The orders for a process that starts later: which events are recorded.
    orders: Orders,
    /// The number of changes of the filter.
    generation: u32,
}

/// A memory and its reader.
#[derive(Debug)]
struct Held {
    memory: Arc<Memory>,
    harvest: Harvest,
    /// Its number in the recording.
    number: u32,
    /// The processes that attached. Only a flight recorder fills this in.
    attached: Vec<ProcessId>,
    /// The only process that uses the memory; `None` for the first memory.
    only_pid: Option<u32>,
    /// What that process asked for.
    requested: Option<MemoryRequest>,
    /// The orders in force for it: which events are recorded.
    orders: Orders,
}

impl Held {
    fn pass(&mut self, processes: &mut Processes, sink: &mut dyn Sink) -> PassOutcome {
        if self.memory.region().is_overwritten {
            self.describe_attached(processes, sink);
        }
        let mut writers = Writers::of(processes, self.only_pid);
        self.harvest.pass(&self.memory.region(), &mut writers, sink)
    }

    fn finish(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        let mut writers = Writers::of(processes, self.only_pid);
        self.harvest
            .finish(&self.memory.region(), &mut writers, sink);
    }

    fn header(&self) -> &Header {
        self.memory.region().header
    }

    /// The number of stations that were ever allocated.
    fn stations(&self) -> usize {
        self.memory.region().allocated().len()
    }

    fn used_lanes(&self) -> u32 {
        self.memory.region().used_rings().count() as u32
    }

    /// Records that wait in lanes.
    fn unread_records(&self) -> u64 {
        let region = self.memory.region();
        let unread = region
            .used_rings()
            .map(|ring| ring.head().wrapping_sub(ring.tail()).min(ring.capacity()));
        unread.sum()
    }

    /// Coroutines of foreign probes. Each thread of this project's probe has a lane, if the memory has lanes.
    fn foreign(&self) -> u32 {
        let (region, totals) = (self.memory.region(), self.harvest.totals());
        let is_unused = region.ring(0).is_some_and(|ring| !ring.is_used());
        if is_unused && region.header.counters().laneless == 0 {
            totals.coroutines
        } else {
            totals.plain
        }
    }
}

/// Bytes that a typical record takes in the backlog.
const BACKLOG_BYTES_PER_RECORD: u64 = 16;

/// MemorySet that a process can get: each copy of the probe linked into it needs its own. A faulty process could
/// request memories without end.
const MAX_REGIONS_PER_PROCESS: usize = 4;

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
        let mut regions = MemorySet {
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
        regions.hold(memory, None);
        Ok(regions)
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
        let mut held = Held {
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
    /// Those of the kernel: no memory, too many files. Also if the process, or the recording, has too many.
    pub fn grant(&mut self, pid: u32, requested: MemoryRequest) -> io::Result<&Memory> {
        let has = self.held.iter().filter(|held| held.only_pid == Some(pid));
        if MAX_REGIONS_PER_PROCESS <= has.count() || request::MAX_REGIONS <= self.recording.memory {
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

    /// Reports coroutines that have had no event for `after`.
    pub fn report_idle(
        &mut self,
        after: Duration,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) -> IdleReport {
        let mut all = IdleReport::default();
        for held in &mut self.held {
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            let report = held.harvest.report_idle(after, &region, &mut writers, sink);
            all.accounts.extend(report.accounts);
            all.moving.extend(report.moving);
        }
        all
    }

    /// Whether any live coroutine has had no event for `after`. A plain v1 peer's coroutine may have had no
    /// event at all.
    pub fn has_idle_coroutine(&self, after: Duration) -> bool {
        let before_ns = monotonic_ns().saturating_sub(after.as_nanos() as u64);
        self.held.iter().any(|held| {
            let before_ns = held.harvest.program_time(before_ns);
            let region = held.memory.region();
            let mut stations = region.allocated().iter();
            stations.any(|station| is_idle(station, before_ns))
        })
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

    /// Reads what an exited process left, and gives up its own memories. Returns the time of the latest event
    /// there; if the process had no memory of its own, of the latest event in the shared memory.
    pub fn reap(
        &mut self,
        pid: u32,
        process: ProcessId,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) -> Nanos {
        let mut own: Vec<Held> = self
            .held
            .extract_if(.., |held| held.only_pid == Some(pid))
            .collect();
        for held in &mut own {
            self.finish_or_keep(held, processes, sink);
            self.given_up.add_left(held);
        }
        let shared = self.held.iter_mut().filter(|held| held.only_pid.is_none());
        for held in shared {
            // The process may have begun coroutines since the last scan, which nothing would reap later.
            held.harvest.request_full_scan();
            held.pass(processes, sink);
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            held.harvest.reap(process, &region, &mut writers, sink);
        }
        let latest = latest_in(&own);
        self.keep_headers(own);
        self.latest_given_up = self.latest_given_up.max(latest.unwrap_or_default());
        latest.or_else(|| latest_in(&self.held)).unwrap_or_default()
    }

    /// Reads what is left in a memory without writers. A flight recorder keeps the memory.
    fn finish_or_keep(&mut self, held: &mut Held, processes: &mut Processes, sink: &mut dyn Sink) {
        if self.recording.mode == MODE_FLIGHT {
            held.pass(processes, sink);
            return self.keep(held.view(), sink);
        }
        held.finish(processes, sink);
    }

    /// Keeps the headers of memories that were given up. A flight recorder has kept the whole memories.
    fn keep_headers(&mut self, regions: Vec<Held>) {
        if self.recording.mode != MODE_FLIGHT {
            let regions = regions.into_iter().map(|held| held.memory);
            regions.for_each(|memory| self.orphans.keep_header(memory));
        }
    }

    /// The latest change of the filter, for the trace.
    pub fn change(&self, at: Nanos, pid: Option<u32>) -> Control {
        let orders = self.orders_of(pid);
        orders.record(at, self.generation, pid.unwrap_or(0))
    }

    /// Announces that the recorder goes to sleep, so that probes ring the doorbell.
    pub fn arm(&self) {
        for header in self.headers() {
            doorbell::arm(header.tracer_sleeping());
        }
        self.drainer.iter().for_each(Drainer::rest);
    }

    /// Announces that the recorder is awake. Returns true if no doorbell was rung.
    pub fn disarm(&self) -> bool {
        self.drainer.iter().for_each(Drainer::go_on);
        // Disarm all of them, also after the first that was rung.
        self.headers()
            .map(|header| doorbell::disarm(header.tracer_sleeping()))
            .fold(true, |silent, was_silent| silent & was_silent)
    }

    /// Reads what is new without a ring of the doorbell. Such events were found only by the timer tick.
    pub fn rescue(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        for held in &mut self.held {
            if held.pass(processes, sink).events > 0 {
                held.header().count_rescue();
            }
        }
    }

    /// The headers of all memories.
    pub fn headers(&self) -> impl Iterator<Item = &Header> {
        self.held.iter().map(Held::header)
    }

    /// Counts of what was found so far in all memories, including those given up.
    pub fn totals(&self) -> Totals {
        self.account().totals
    }

    /// Time of the latest record, including memories given up.
    pub fn latest(&self) -> Nanos {
        let held = latest_in(&self.held).unwrap_or_default();
        held.max(self.latest_given_up)
    }

    /// Time of the latest event of a coroutine or a thread. Abandoned memories count with their latest record.
    pub fn latest_event(&self) -> Nanos {
        let held = self.held.iter().map(|held| held.harvest.latest_event());
        held.fold(self.latest_given_up, Nanos::max)
    }

    /// Events so far, including those that became no records.
    pub fn events(&self) -> u64 {
        let given_up = &self.given_up.totals;
        let living = self
            .held
            .iter()
            .map(|held| held.harvest.happened(&held.memory.region()));
        living.fold(
            given_up.events.saturating_add(given_up.summed_up),
            u64::saturating_add,
        )
    }

    /// Records that wait in lanes and in the backlog. A flight recorder's records wait for nothing.
    pub fn waiting_records(&self) -> u64 {
        if self.recording.mode == MODE_FLIGHT {
            return 0;
        }
        let in_lanes: u64 = self.held.iter().map(Held::unread_records).sum();
        in_lanes.saturating_add(self.backlog.bytes() / BACKLOG_BYTES_PER_RECORD)
    }

    /// Lanes that threads have used, including those that are not drained.
    pub fn lanes(&self) -> u32 {
        match self.recording.mode {
            MODE_FLIGHT => self.held.iter().map(Held::used_lanes).sum(),
            _ => self.totals().lanes,
        }
    }
}

/// Whether the station's coroutine is alive and has had no event since `before_ns`.
fn is_idle(station: &Station, before_ns: u64) -> bool {
    let identity = station.identity();
    identity.is_some_and(|identity| !identity.is_dead) && station.latest_event_ns() <= before_ns
}

/// Time of the latest record in these memories, if there are any.
fn latest_in(regions: &[Held]) -> Option<Nanos> {
    regions.iter().map(|held| held.harvest.latest()).max()
}
