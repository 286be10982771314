//! Reads a memory region in passes and turns what is new in it into records.
//!
//! A pass takes a region and a sink, not a process, so a dump is read like a live program. A pass
//! reads each event once, in order, and counts exactly which events were overwritten before they were read.

mod account;
mod cell;
mod cells;
mod convert;
mod copies;
mod descriptors;
mod emit;
mod filtered;
mod frames;
mod horizon;
mod idle;
pub(crate) mod image;
mod jump;
mod lanes;
mod latest;
mod latest_event;
mod long_runs;
mod outside;
mod pass;
mod prefault;
mod program_clock;
mod queue;
mod scan_schedule;
mod sites;
mod stacks;
mod station_coroutine;
mod stations;
mod stop;
mod summary;
mod thread_events;
mod totals;

use std::slice;
use std::sync::{Arc, Mutex};

use ctp_nostd::Region;
use ctp_trace::record::{Event, Nanos, ProcessId, Record};

use crate::output::backlog::Backlog;
use crate::session::pace::PassOutcome;
use cells::StationCells;
pub(crate) use copies::{Copies, locked};
pub(crate) use descriptors::DescriptorWait;
use horizon::Horizon;
pub(crate) use horizon::LEEWAY_NS;
pub use idle::IdleReport;
use idle::IdleState;
use lanes::{EventBatch, Lanes, TimeLimit};
use latest::LatestTimes;
pub use long_runs::LongRun;
pub use outside::{Outside, StationProcess, TraceNumbers};
use pass::Pass;
pub(crate) use prefault::{MAX_PREFAULT_RECORDS, PrefaultRange};
use program_clock::KnownClocks;
use scan_schedule::SinceFullScan;
pub(crate) use sites::SiteTable;
pub(crate) use stacks::StackWait;
pub use station_coroutine::StationCoroutine;
use stop::Stop;
use summary::SummarySchedule;
pub use totals::Totals;

/// Where records go.
pub trait Sink {
    /// Takes a record. A sink that cannot store a record remembers the failure itself: the pass goes on, so
    /// that the program's lanes are drained whatever happens to the file.
    fn take(&mut self, record: Record);

    /// Takes several events in order. Most records of a trace arrive this way.
    fn take_events(&mut self, events: &[Event]) {
        let records = events.iter().map(|event| Record::Event(*event));
        records.for_each(|record| self.take(record));
    }

    /// Takes a single event.
    fn take_event(&mut self, event: &Event) {
        self.take_events(slice::from_ref(event));
    }

    /// Takes the number of nanoseconds by which the clock of a process is ahead of the recorder's clock.
    /// Times that the process states are on its own clock. The times of its events are already on the
    /// recorder's clock.
    fn take_clock(&mut self, _process: ProcessId, _ahead_ns: i64) {}

    /// Takes what is known of a coroutine that leaves its station. Called only when a flight recorder's
    /// memory is read.
    fn take_departed(&mut self, departed: StationCoroutine) {
        drop(departed);
    }
}

/// Reads one memory: remembers what was read of its lanes and stations.
#[derive(Debug)]
pub struct Harvest {
    cells: StationCells,
    lanes: Lanes,
    events: EventBatch,
    since_full_scan: SinceFullScan,
    /// Set if totals are recorded instead of history.
    summary: Option<SummarySchedule>,
    /// The number of this memory among those of the recording. Set for a flight recorder: then only
    /// snapshots read the lanes.
    flight_memory: Option<u32>,
    sites: SiteTable,
    /// Whether a command or filter may exclude events. Then each pass counts the excluded events.
    is_controlled: bool,
    /// The state last reported of idle coroutines, by station. Empty unless idle coroutines are reported.
    idle_states: Vec<IdleState>,
    totals: Totals,
    latest: LatestTimes,
    horizon: Horizon,
    clocks: KnownClocks,
    /// What the memory held when the recording ended.
    stop: Option<Stop>,
}

impl Harvest {
    /// Creates a reader that has read nothing; `start_ns` of the monotonic clock is the trace's zero.
    pub fn new(start_ns: u64) -> Self {
        Harvest {
            cells: StationCells::default(),
            lanes: Lanes::default(),
            events: EventBatch::default(),
            since_full_scan: SinceFullScan::default(),
            summary: None,
            flight_memory: None,
            sites: SiteTable::default(),
            is_controlled: false,
            idle_states: Vec::new(),
            totals: Totals::default(),
            latest: LatestTimes::default(),
            horizon: Horizon::new(start_ns),
            clocks: KnownClocks::default(),
            stop: None,
        }
    }

    /// Creates a reader of a live program. `now_ns` returns the time: events far ahead of that time are impossible.
    /// The time of an event long before the start is unknown.
    pub fn clocked(start_ns: u64, now_ns: fn() -> u64) -> Self {
        Harvest {
            horizon: Horizon::clocked(start_ns, now_ns),
            ..Harvest::new(start_ns)
        }
    }

    /// Uses `backlog` to count and limit the copies that wait to be merged.
    pub fn within(mut self, backlog: Backlog) -> Self {
        self.lanes = Lanes::within(backlog);
        self
    }

    /// Returns the copies of lanes, into which a second thread copies while this thread is busy.
    pub(crate) fn share_copies(&mut self) -> Arc<Mutex<Copies>> {
        self.lanes.share_copies()
    }

    /// Counts of what was found so far.
    pub fn totals(&self) -> Totals {
        let crowded_out = match &self.stop {
            Some(stop) => stop.crowded_out(),
            None => self.lanes.crowded_out(),
        };
        Totals {
            unnamed: self.sites.unnamed,
            lanes: self.lanes.count(),
            crowded_out,
            damaged_lanes: self.lanes.damaged(),
            finished: if self.is_controlled {
                0
            } else {
                self.totals.finished
            },
            ..self.totals
        }
    }

    /// Time of the latest record.
    pub fn latest(&self) -> Nanos {
        self.latest.any()
    }

    /// Time of the latest event of a coroutine or a thread. Births and wakes do not count, because they may be
    /// read before earlier events.
    pub fn latest_event(&self) -> Nanos {
        self.latest.event()
    }

    /// Reads what is new in the memory.
    pub fn pass(
        &mut self,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) -> PassOutcome {
        let mut pass = Pass::over(region, outside, sink);
        let was_full = region.is_full();
        region.header.limit_claims(region.stations.len() as u32);
        self.discover(region);
        self.find_clock(&mut pass);
        let now_ns = self.horizon.now_ns();
        self.cells.take_ended(); // Deaths that were read from slots: these coroutines have left their stations.
        if self.flight_memory.is_none() {
            self.drain_lanes(TimeLimit::Before(now_ns), &mut pass);
        }
        if self.lanes.backlog.has_too_many_chunks() {
            self.lanes.backlog.note_full();
            pass.found.is_held = true;
            return pass.found;
        }
        self.identify_writers(stations::UNWRITTEN_PER_PASS, &mut pass);
        self.cells.retain_v1_peers();
        let has_more = pass.found.is_cut_short || pass.found.has_pending;
        if self.can_defer_scan(has_more, now_ns, region) {
            self.visit_stations(&mut pass);
            return pass.found;
        }
        self.scan_stations(now_ns, &mut pass);
        self.emit_due_totals(now_ns, &mut pass);
        self.count_filtered(&mut pass);
        pass.found.needs_stations &= was_full;
        pass.found
    }

    /// Reads what an exited process left and closes the accounts of its coroutines. Its stations become
    /// free.
    pub fn reap(
        &mut self,
        process: ProcessId,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let mut pass = Pass::over(region, outside, sink);
        // The latest record is the last only if the thread has exited: a live thread commits its pending record
        // later.
        if self.flight_memory.is_none() && self.lanes.have_thread_of(process) {
            self.drain_lanes(TimeLimit::End, &mut pass);
        }
        self.count_filtered(&mut pass);
        for index in 0..self.cells.len() {
            if self.cells[index].process != process {
                continue;
            }
            self.drain_to_the_end(index, &mut pass);
            if self.cells[index].is_ours() {
                self.vacate(index, &mut pass);
            }
        }
    }

    /// Reads what is left after the last event: every station once more, whatever its head says, then the
    /// wakes. Closes each coroutine's account. One scan finds everything that the slots hold; repeated scans
    /// would never end while a program still writes. If the program may continue, call
    /// [`stop`](Harvest::stop) first.
    pub fn finish(&mut self, region: &Region<'_>, outside: &mut dyn Outside, sink: &mut dyn Sink) {
        self.pass(region, outside, sink);
        self.introduce_silent_peers(region, outside, sink);
        let mut pass = Pass::over(region, outside, sink);
        self.take_rest(&mut pass);
    }

    /// Reads lanes and stations to their ends and closes each coroutine's account.
    fn take_rest(&mut self, pass: &mut Pass<'_>) {
        self.drain_lanes(TimeLimit::End, pass);
        for index in 0..self.cells.len() {
            self.drain_to_the_end(index, pass);
            if self.cells[index].is_known() {
                self.close(index, pass);
            }
        }
    }

    /// Reads a station's new events, oldest first, except those that lanes may still bring.
    fn drain(&mut self, index: usize, pass: &mut Pass<'_>) {
        let head = pass.region.stations[index].event_head();
        let to_read = self.head_to_read(index, head);
        let end = self.end_of_slots(index, to_read, pass.region);
        self.drain_before(index, head, end, pass);
    }

    /// The index at which reading from slots ends, or `None` to read all slots. An event that was written
    /// after the head was read may still come through a lane, even the coroutine's first event.
    fn end_of_slots(&mut self, index: usize, head: u64, region: &Region<'_>) -> Option<u64> {
        let reads_each_event = self.reads_each_event();
        let cell = &mut self.cells[index];
        match cell.v1_dialect {
            Some(_) => None,
            None if !reads_each_event => Some(head),
            None if Lanes::are_used(region) => Some(cell.slot_end(head, &self.lanes)),
            None if region.has_vacant_slots() => Some(head),
            None => Lanes::are_available(region).then_some(head),
        }
    }

    /// Whether events are read as they happen. A flight recorder's lanes are not drained, and a summary has no
    /// lanes.
    fn reads_each_event(&self) -> bool {
        self.flight_memory.is_none() && self.summary.is_none()
    }

    fn drain_to_the_end(&mut self, index: usize, pass: &mut Pass<'_>) {
        let head = pass.region.stations[index].event_head();
        // Events without a slot are counted as lost only up to the head.
        if pass.region.has_vacant_slots() {
            self.drain_before(index, head, Some(head), pass);
        }
        self.drain_before(index, head, None, pass);
    }

    /// Reads events from the slots, up to `end` if it is set.
    fn drain_before(&mut self, index: usize, head: u64, end: Option<u64>, pass: &mut Pass<'_>) {
        let station = &pass.region.stations[index];
        self.notice_unexpected_owner(index, pass);
        if !self.cells[index].is_known() && !self.introduce(index, None, pass) {
            return;
        }
        let before = self.totals;
        let was_dead = station.identity().is_some_and(|identity| identity.is_dead);
        self.cells[index].follow_head(station, head);
        match end.or_else(|| self.end_at_stop(index, head)) {
            Some(end) => self.drain_slots_before(index, end, pass),
            None => self.drain_slots(index, station, pass),
        }
        let events = self.totals.events - before.events;
        pass.found.events += events;
        pass.found.most = pass.found.most.max(events);
        pass.found.has_lost |= self.totals.lost > before.lost;
        self.emit_station_state(index, station, was_dead, pass);
        // A later scan must visit this station again if events are unread, or if the coroutine has ended
        // but its station is not marked as dead yet.
        let visited = if self.cells[index].has_ended() {
            head.wrapping_sub(1)
        } else {
            head.min(self.cells[index].next_n())
        };
        self.cells.set_head(index, visited);
        if was_dead && self.cells[index].is_read_to_end(station) {
            self.vacate(index, pass);
        }
    }
}
