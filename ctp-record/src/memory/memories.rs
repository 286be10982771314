//! The memories of a recording: the first, which every program finds by its environment, and one
//! for each further process, so that none can damage what another wrote.

mod account;
mod descriptors;
mod look;
mod orders;
mod orphans;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::aggregate::{MODE_FLIGHT, MODE_SUMMARY};
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::doorbell;
use ctp_nostd::lane::Ring;
use ctp_nostd::layout::{Header, Station};
use ctp_nostd::request::{self, Asked};
use ctp_trace::record::{Control, Nanos, ProcessId};

use crate::control::Orders;
use crate::harvest::{Harvest, Sink, Standstill, Totals};
use crate::memory::clock::monotonic_ns;
use crate::memory::drainer::Drainer;
use crate::memory::shm::Memory;
use crate::output::backlog::Backlog;
use crate::proc::processes::{Processes, Writers};
use crate::session::pace::PassOutcome;
use account::Account;
pub use descriptors::StationPlace;
pub use look::Look;
use orphans::Orphans;

/// All of them, with what was read of each.
#[derive(Debug)]
pub struct Memories {
    plan: Plan,
    recording: Recording,
    backlog: Backlog,
    /// Empties lanes meanwhile, if there are lanes.
    drainer: Option<Drainer>,
    held: Vec<Held>,
    /// What processes left of which a flight recorder may still be asked.
    left: VecDeque<Look>,
    /// What was read of those that are no more.
    gone: Account,
    /// Where forks may still count themselves that come from processes that are no more.
    orphans: Orphans,
    /// Time of their latest event.
    latest_gone: Nanos,
    /// What is kept of a process that comes new.
    orders: Orders,
    /// Counts the changes of that and of what each has.
    generation: u32,
}

/// A memory and its reader.
#[derive(Debug)]
struct Held {
    memory: Arc<Memory>,
    harvest: Harvest,
    /// Its number in the recording.
    number: u32,
    /// The processes that attached, as far as a flight recorder has met them.
    attached: Vec<ProcessId>,
    /// The only process that has it, unless it is the first memory.
    only_pid: Option<u32>,
    /// What that process asked for.
    asked: Option<Asked>,
    /// What is kept of it.
    orders: Orders,
}

impl Held {
    fn pass(&mut self, processes: &mut Processes, sink: &mut dyn Sink) -> PassOutcome {
        if self.memory.region().is_overwritten {
            self.meet_attached(processes, sink);
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

    /// Coroutines of which another probe than ours tells: ours has a lane where there are any.
    fn foreign(&self) -> u32 {
        let (region, totals) = (self.memory.region(), self.harvest.totals());
        let has_none = |ring: Ring<'_>| !ring.is_used() && region.header.counters().laneless == 0;
        match region.ring(0).is_some_and(has_none) {
            true => totals.coroutines,
            false => totals.plain,
        }
    }
}

/// Of most records, in copies and in chunks.
const BACKLOG_BYTES_OF_A_RECORD: u64 = 16;

/// One for each copy of the probe that is linked into a process; more ask without end.
const MOST_EACH: usize = 4;

impl Memories {
    /// The first one. Those that follow are of the same plan.
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
        let mut memories = Memories {
            plan,
            recording,
            backlog,
            drainer: drainer.transpose()?,
            held: Vec::new(),
            left: VecDeque::new(),
            gone: Account::default(),
            orphans: Orphans::default(),
            latest_gone: Nanos::default(),
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
        let mut held = Held {
            memory: Arc::new(memory),
            harvest: harvest.within(self.backlog.clone()),
            number: self.recording.memory,
            attached: Vec::new(),
            only_pid,
            asked: None,
            orders: self.orders,
        };
        if let Some(drainer) = &self.drainer {
            drainer.add(&held.memory, &held.harvest.share_copies());
        }
        self.held.push(held);
        if self.orders.are_in_force() {
            self.pass_on_orders();
        }
    }

    /// The one that programs find by their environment.
    pub fn first(&self) -> &Memory {
        &self.held.first().expect("it is never given up").memory
    }

    /// By which all of them are found in the maps of processes.
    pub fn inodes(&self) -> impl Iterator<Item = u64> {
        self.held.iter().map(|held| held.memory.inode())
    }

    /// Fresh memory for this process alone.
    ///
    /// # Errors
    /// Those of the kernel: no memory, too many files. And it has had more than anybody needs.
    pub fn grant(&mut self, pid: u32, asked: Asked) -> io::Result<&Memory> {
        let has = self.held.iter().filter(|held| held.only_pid == Some(pid));
        if MOST_EACH <= has.count() || request::MOST_MEMORIES <= self.recording.memory {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.recording.memory += 1;
        let memory = Memory::create(self.plan, &self.recording, false)?;
        self.hold(memory, Some(pid));
        let held = self.held.last_mut().expect("it was just made");
        held.asked = Some(asked);
        Ok(&held.memory)
    }

    /// The one that was granted last could not be given to its process.
    pub fn take_back(&mut self) {
        self.held.pop_if(|held| held.only_pid.is_some());
    }

    /// Reads what is new in all of them.
    pub fn pass(&mut self, processes: &mut Processes, sink: &mut dyn Sink) -> PassOutcome {
        let mut all = PassOutcome::default();
        for held in &mut self.held {
            all += held.pass(processes, sink);
        }
        all
    }

    /// Looks at those that have had no event for so long.
    pub fn look_at_standstill(
        &mut self,
        after: Duration,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) -> Standstill {
        let mut all = Standstill::default();
        for held in &mut self.held {
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            let one = held
                .harvest
                .look_at_standstill(after, &region, &mut writers, sink);
            all.accounts.extend(one.accounts);
            all.moving.extend(one.moving);
        }
        all
    }

    /// Has any coroutine that lives had no event for so long? One of a plain v1 peer may have had
    /// none.
    pub fn is_anybody_still(&self, after: Duration) -> bool {
        let before_ns = monotonic_ns().saturating_sub(after.as_nanos() as u64);
        let is_still = |station: &Station, before_ns: u64| {
            let identity = station.identity();
            identity.is_some_and(|it| !it.is_dead) && station.latest_event_ns() <= before_ns
        };
        self.held.iter().any(|held| {
            let before_ns = held.harvest.program_time(before_ns);
            let region = held.memory.region();
            let mut stations = region.allocated().iter();
            stations.any(|station| is_still(station, before_ns))
        })
    }

    /// It is over: what happens from now on is not of this recording. What a flight recorder tells is
    /// gathered as of its end anyway.
    pub fn stop(&mut self) {
        if self.recording.mode == MODE_FLIGHT {
            return;
        }
        for held in &mut self.held {
            held.harvest.stop(&held.memory.region());
        }
    }

    /// Reads the rest and closes every account; a flight recorder's stay open.
    pub fn finish(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        if self.recording.mode == MODE_FLIGHT {
            self.pass(processes, sink);
            return;
        }
        for held in &mut self.held {
            held.finish(processes, sink);
        }
    }

    /// Meets the coroutines that have had no event at the end of a flight recorder's recording.
    pub fn meet_silent_peers(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        for held in &mut self.held {
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            held.harvest.meet_silent_peers(&region, &mut writers, sink);
        }
    }

    /// A process is no more: reads what it left. Memory of its own is given up. Gives the time of the
    /// latest event there; if it had none of its own, of the latest in what it shares.
    pub fn bury(
        &mut self,
        pid: u32,
        process: ProcessId,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) -> Nanos {
        let is_its_own = |held: &mut Held| held.only_pid == Some(pid);
        let mut own: Vec<Held> = self.held.extract_if(.., is_its_own).collect();
        for held in &mut own {
            self.part_with(held, processes, sink);
            self.gone.add_left(held);
        }
        let shared = self.held.iter_mut().filter(|held| held.only_pid.is_none());
        for held in shared {
            // It may have begun coroutines since the last look: later they would be nobody's.
            held.harvest.wants_to_look_at_all();
            held.pass(processes, sink);
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            held.harvest.bury(process, &region, &mut writers, sink);
        }
        let latest = latest_in(&own);
        self.keep_headers(own);
        self.latest_gone = self.latest_gone.max(latest.unwrap_or_default());
        latest.or_else(|| latest_in(&self.held)).unwrap_or_default()
    }

    /// Reads what is left in a memory that nobody writes any more; a flight recorder keeps it.
    fn part_with(&mut self, held: &mut Held, processes: &mut Processes, sink: &mut dyn Sink) {
        if self.recording.mode == MODE_FLIGHT {
            held.pass(processes, sink);
            return self.keep(held.look(), sink);
        }
        held.finish(processes, sink);
    }

    /// A flight recorder has kept all of these memories.
    fn keep_headers(&mut self, given_up: Vec<Held>) {
        if self.recording.mode != MODE_FLIGHT {
            let memories = given_up.into_iter().map(|held| held.memory);
            memories.for_each(|memory| self.orphans.keep_header(memory));
        }
    }

    /// The latest change, for the trace.
    pub fn change(&self, at: Nanos, pid: Option<u32>) -> Control {
        let orders = self.orders_of(pid);
        orders.record(at, self.generation, pid.unwrap_or(0))
    }

    /// Announces that nobody looks.
    pub fn arm(&self) {
        for header in self.headers() {
            doorbell::arm(header.tracer_sleeping());
        }
        self.drainer.iter().for_each(Drainer::rest);
    }

    /// Somebody looks again. True if nobody rang.
    pub fn disarm(&self) -> bool {
        self.drainer.iter().for_each(Drainer::go_on);
        // All of them, also when the first one rang.
        self.headers()
            .map(|header| doorbell::disarm(header.tracer_sleeping()))
            .fold(true, |silent, was_silent| silent & was_silent)
    }

    /// Reads what is new where nobody rang for it: such events were rescued by the tick.
    pub fn rescue(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        for held in &mut self.held {
            if held.pass(processes, sink).events > 0 {
                held.header().count_rescue();
            }
        }
    }

    /// The header of each.
    pub fn headers(&self) -> impl Iterator<Item = &Header> {
        self.held.iter().map(Held::header)
    }

    /// What was found so far in all of them, also in those that were given up.
    pub fn totals(&self) -> Totals {
        self.account().totals
    }

    /// Time of the latest event that was read, also in those that were given up.
    pub fn latest(&self) -> Nanos {
        let held = latest_in(&self.held).unwrap_or_default();
        held.max(self.latest_gone)
    }

    /// The same of events and of what threads did alone, as far as memories are held.
    pub fn told(&self) -> Nanos {
        let held = self.held.iter().map(|held| held.harvest.told());
        held.fold(self.latest_gone, Nanos::max)
    }

    /// Events so far, whether they became records or not.
    pub fn events(&self) -> u64 {
        let gone = &self.gone.totals;
        let happened = |held: &Held| held.harvest.happened(&held.memory.region());
        let living = self.held.iter().map(happened);
        living.fold(
            gone.events.saturating_add(gone.summed_up),
            u64::saturating_add,
        )
    }

    /// Records that wait in lanes and in the backlog; a flight recorder's only wait to be written over.
    pub fn waiting_records(&self) -> u64 {
        if self.recording.mode == MODE_FLIGHT {
            return 0;
        }
        let unread = |ring: Ring<'_>| ring.head().wrapping_sub(ring.tail()).min(ring.capacity());
        let in_memory = |held: &Held| held.memory.region().used_rings().map(unread).sum::<u64>();
        let in_lanes: u64 = self.held.iter().map(in_memory).sum();
        in_lanes.saturating_add(self.backlog.bytes() / BACKLOG_BYTES_OF_A_RECORD)
    }

    /// Lanes that threads have had, also where nobody drains them.
    pub fn lanes(&self) -> u32 {
        let used = |held: &Held| held.memory.region().used_rings().count() as u32;
        match self.recording.mode {
            MODE_FLIGHT => self.held.iter().map(used).sum(),
            _ => self.totals().lanes,
        }
    }
}

/// Time of the latest event that was read in these, if there are any.
fn latest_in(memories: &[Held]) -> Option<Nanos> {
    memories.iter().map(|held| held.harvest.latest()).max()
}
