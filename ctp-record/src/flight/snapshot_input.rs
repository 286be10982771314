//! Gathers everything that a snapshot needs. The thread that reads the memories does this in one go, so
//! that stations can be reused as soon as possible. Lanes are copied before stations are read, so that
//! the coroutine of every copied record is known.

use std::collections::HashMap;
use std::sync::Arc;

use ctp_nostd::inspect::Counters;
use ctp_trace::record::{ExitReason, Look, Nanos, ProcessId, Record, Sockets, Start};

use super::ended::EndedCoroutines;
use super::history::{FlightHistory, KnownCoroutine};
use super::lane_copy::{self, LaneCopy};
use crate::harvest::{SiteTable, TraceNumbers};
use crate::memory::clock::monotonic_ns;
use crate::memory::memory_set::{MemorySet, MemoryView};
use crate::memory::shm::Memory;
use crate::output::deadlines::ProgramClocks;
use crate::proc::processes::Processes;
use crate::session::liveness;
use crate::session::wait;

/// Everything that a snapshot is made from.
///
/// It is handed to the writing thread as a whole and not changed afterwards.
#[derive(Debug, Default)]
pub struct SnapshotInput {
    /// The first record of the trace.
    pub start: Start,
    /// Copies of the lanes, by memory.
    pub lanes: Vec<Vec<LaneCopy>>,
    /// The time up to which lanes are complete, on the monotonic clock.
    pub until_ns: u64,
    /// When stations were read, on the monotonic clock.
    pub stations_read_ns: u64,
    /// The requested length of the window in nanoseconds, if the user requested a length.
    pub length_ns: Option<u64>,
    /// Definitions of processes, modules and sites.
    pub definitions: Vec<Record>,
    /// Ends of processes and changes of the filter.
    pub marks: Vec<Record>,
    /// Observations of descriptors.
    pub looks: Vec<Look>,
    /// Observations of sockets.
    pub sockets: Vec<Sockets>,
    /// The memories.
    pub parts: Vec<SnapshotMemory>,
    /// Coroutines that departed lately.
    pub departed: Vec<Arc<KnownCoroutine>>,
    /// The sums of coroutines that departed earlier.
    pub ended_before: EndedCoroutines,
    /// The clocks of processes that do not use the recorder's clock.
    pub clocks: ProgramClocks,
    /// The numbers that the trace has assigned so far.
    pub numbers: TraceNumbers,
    /// The program of each process.
    pub programs: HashMap<ProcessId, u32>,
    /// The counters of all memories.
    pub counters: Counters,
    /// How and when the recording ended; `None` while it continues.
    pub ended: Option<(ExitReason, Nanos)>,
    /// The thread at which the program crashed, or 0.
    pub faulting_tid: u64,
    /// Processes that are not recorded.
    pub unrecorded: u64,
}

/// A memory in a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotMemory {
    /// The number of the memory in the recording.
    pub number: u32,
    /// The memory, for its tables.
    pub memory: Arc<Memory>,
    /// The processes that attached, by attach id, which begins at 1.
    pub attached: Vec<ProcessId>,
    /// The sites known so far.
    pub sites: SiteTable,
    /// The coroutines that have a station.
    pub living: Vec<Arc<KnownCoroutine>>,
}

impl SnapshotInput {
    /// Copies lanes, introduces new coroutines, and reads every station once.
    pub fn take(
        start: &Start,
        regions: &mut MemorySet,
        processes: &mut Processes,
        history: &mut FlightHistory,
    ) -> Self {
        // Events before this point are visible after it.
        wait::fence_programs();
        let (lanes, until_ns) = lane_copy::up_to_now(&regions.all());
        // Coroutines of the copied records are visible after this point.
        wait::fence_programs();
        regions.pass(processes, history);
        let views = regions.views();
        let stations_read_ns = monotonic_ns();
        SnapshotInput {
            lanes: lane_copy::by_recorders_clock(lanes, &views),
            until_ns,
            stations_read_ns,
            ..SnapshotInput::seen(views, start, regions, processes, history)
        }
    }

    /// Gathers the last snapshot when the recording has ended, as of now. Programs that continue may still
    /// write events, which do not belong to the recording. Stations hold fewer events than lanes, so they
    /// are overwritten first and must be read first.
    pub fn take_last(
        start: &Start,
        regions: &mut MemorySet,
        processes: &mut Processes,
        history: &mut FlightHistory,
    ) -> Self {
        wait::fence_programs();
        let until_ns = monotonic_ns();
        regions.pass(processes, history);
        regions.introduce_silent_peers(processes, history);
        let views = regions.views();
        wait::fence_programs();
        let lanes = lane_copy::once(&regions.all());
        SnapshotInput {
            lanes: lane_copy::by_recorders_clock(lane_copy::within_time(lanes), &views),
            until_ns,
            stations_read_ns: until_ns,
            ..SnapshotInput::seen(views, start, regions, processes, history)
        }
    }

    /// Gathers everything except lanes and times.
    fn seen(
        views: Vec<MemoryView>,
        start: &Start,
        regions: &MemorySet,
        processes: &mut Processes,
        history: &mut FlightHistory,
    ) -> Self {
        processes.describe_all_modules(history);
        let parts = views
            .into_iter()
            .map(|view| SnapshotMemory::of(view, history));
        SnapshotInput {
            parts: parts.collect(),
            numbers: processes.numbers().clone(),
            programs: processes.program_of().clone(),
            counters: regions.counters(),
            ..SnapshotInput::remembered(start, history)
        }
    }

    /// Notes how and when the recording ended. The time is `alive`, the latest time at which a process was
    /// known to run, but not before the latest record. It does not depend on when the input was gathered.
    pub fn end(&mut self, how: ExitReason, alive: Nanos) -> Nanos {
        let latest = self.nanos(self.latest_ns());
        let at = liveness::end(alive, latest, self.nanos(self.until_ns));
        self.ended = Some((how, at));
        at
    }

    /// Converts a monotonic time to the trace's time.
    fn nanos(&self, monotonic_ns: u64) -> Nanos {
        Nanos(monotonic_ns.saturating_sub(self.start.started_monotonic_ns))
    }

    /// The latest time of a record.
    fn latest_ns(&self) -> u64 {
        let lanes = self.lanes.iter().flatten();
        let in_lanes = lanes.filter_map(|lane| lane.latest(self.until_ns));
        let in_stations = self.latest_in_stations().map(|(_, at_ns)| at_ns);
        in_lanes.chain(in_stations).max().unwrap_or(0)
    }

    /// The time of the latest event of each process, as far as stations state it.
    pub fn latest_of_processes(&self) -> HashMap<ProcessId, Nanos> {
        let mut latest = HashMap::new();
        for (process, at_ns) in self.latest_in_stations() {
            let at: &mut Nanos = latest.entry(process).or_default();
            *at = self.nanos(at_ns).max(*at);
        }
        latest
    }

    /// The process of each coroutine, and the time of the coroutine's latest event.
    fn latest_in_stations(&self) -> impl Iterator<Item = (ProcessId, u64)> {
        let living = self.parts.iter().flat_map(|part| &part.living);
        let all = living.chain(&self.departed);
        all.filter_map(|known| {
            let at_ns = known.state.latest_until(self.until_ns)?;
            Some((known.birth.process, at_ns))
        })
    }

    /// When the recording ended, if it did, on the monotonic clock.
    pub fn ended_ns(&self) -> Option<u64> {
        let zero_ns = self.start.started_monotonic_ns;
        self.ended.map(|(_, at)| zero_ns.saturating_add(at.0))
    }

    /// The time up to which the snapshot has records. Observations that were made later get this time.
    pub fn end_at(&self) -> Nanos {
        let read_at = self.nanos(self.stations_read_ns);
        self.ended.map_or(read_at, |(_, at)| at)
    }

    /// The part of the input that is known without reading memories. The recording is taken to continue.
    pub(super) fn remembered(start: &Start, history: &FlightHistory) -> Self {
        SnapshotInput {
            start: start.clone(),
            definitions: history.definitions().to_vec(),
            marks: history.marks().to_vec(),
            looks: history.looks(),
            sockets: history.sockets(),
            departed: history.departed(),
            ended_before: history.ended_before().clone(),
            clocks: history.clocks().clone(),
            ..SnapshotInput::default()
        }
    }
}

impl SnapshotMemory {
    pub(super) fn of(view: MemoryView, history: &FlightHistory) -> Self {
        let coroutines = view.coroutines.into_iter();
        let living = coroutines.filter_map(|coroutine| history.known(coroutine));
        SnapshotMemory {
            number: view.number,
            memory: view.memory,
            attached: view.attached,
            sites: view.sites,
            living: living.map(Arc::new).collect(),
        }
    }

    /// The process with this attach id.
    pub fn process(&self, attach_id: u32) -> Option<ProcessId> {
        let row = (attach_id as usize).checked_sub(1)?;
        self.attached.get(row).copied()
    }
}
