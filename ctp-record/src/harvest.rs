//! One pass over the memory: what is new in it becomes records.
//!
//! A pass takes a region and a sink, not a process, so a dump is read like a live program. It
//! reads each event once, in order, and counts exactly what was overwritten before it came.

mod account;
mod cell;
mod cells;
mod convert;
mod copies;
mod deeds;
mod descriptors;
mod filtered;
mod groundwork;
mod haste;
mod horizon;
pub(crate) mod image;
mod jump;
mod lanes;
mod latest;
mod outside;
mod pass;
mod places;
mod program_clock;
mod queue;
mod standstill;
mod station_coroutine;
mod stations;
mod stop;
mod summary;
mod tell;
mod totals;

use std::slice;
use std::sync::{Arc, Mutex};

use ctp_nostd::Region;
use ctp_trace::record::{Event, Nanos, ProcessId, Record};

use crate::output::backlog::Backlog;
use crate::session::pace::PassOutcome;
use cells::Cells;
pub(crate) use copies::{Copies, locked};
pub(crate) use descriptors::DescriptorWait;
pub(crate) use groundwork::{Ground, MOST_LAID};
use haste::SinceLook;
use horizon::Horizon;
pub(crate) use horizon::LEEWAY_NS;
use lanes::{Events, Lanes, Reach};
use latest::Latest;
pub use outside::{Numbers, Outside, Peer};
use pass::Pass;
pub(crate) use places::Places;
use program_clock::KnownClocks;
use standstill::Standing;
pub(crate) use standstill::Standstill;
pub use station_coroutine::StationCoroutine;
use stop::Stop;
use summary::Summary;
pub use totals::Totals;

/// Where records go.
pub trait Sink {
    /// Takes one. A failure to store it is the sink's to remember: the pass goes on, so that the
    /// program is drained whatever happens to the file.
    fn take(&mut self, record: Record);

    /// Takes events, one after the other. There are many of them.
    fn take_events(&mut self, events: &[Event]) {
        let records = events.iter().map(|event| Record::Event(*event));
        records.for_each(|record| self.take(record));
    }

    /// Takes a single event.
    fn take_event(&mut self, event: &Event) {
        self.take_events(slice::from_ref(event));
    }

    /// Takes by how many nanoseconds the clock of a process is ahead of the recorder's. What the process
    /// says of times is by that clock; the times of its events are the recorder's already.
    fn take_clock(&mut self, _process: ProcessId, _ahead_ns: i64) {}

    /// Takes what is known of a coroutine that leaves its station. Only a flight recorder's
    /// harvest gives it.
    fn take_leave(&mut self, occupant: StationCoroutine) {
        drop(occupant);
    }
}

/// The reader's memory of all stations.
#[derive(Debug)]
pub struct Harvest {
    cells: Cells,
    lanes: Lanes,
    events: Events,
    since_look: SinceLook,
    /// Set if totals are recorded instead of history.
    summary: Option<Summary>,
    /// Set for a flight recorder, whose lanes are left as they are for snapshots: which of the recording's
    /// memories it is.
    flight_memory: Option<u32>,
    places: Places,
    /// Somebody has controlled what is kept: each pass counts what is not.
    is_controlled: bool,
    /// What was told last of those who stand still, by station; only if somebody asks.
    standing: Vec<Standing>,
    totals: Totals,
    latest: Latest,
    horizon: Horizon,
    clocks: KnownClocks,
    /// What there was when it ended, once it has.
    stop: Option<Stop>,
}

impl Harvest {
    /// Nothing read yet; `start_ns` of the monotonic clock is the trace's zero.
    pub fn new(start_ns: u64) -> Self {
        Harvest {
            cells: Cells::default(),
            lanes: Lanes::default(),
            events: Events::default(),
            since_look: SinceLook::default(),
            summary: None,
            flight_memory: None,
            places: Places::default(),
            is_controlled: false,
            standing: Vec::new(),
            totals: Totals::default(),
            latest: Latest::default(),
            horizon: Horizon::new(start_ns),
            clocks: KnownClocks::default(),
            stop: None,
        }
    }

    /// Begins with a live program: `now_ns` is the time, and what lies far ahead of it is nonsense.
    /// What lies long before the start has no known time.
    pub fn clocked(start_ns: u64, now_ns: fn() -> u64) -> Self {
        Harvest {
            horizon: Horizon::clocked(start_ns, now_ns),
            ..Harvest::new(start_ns)
        }
    }

    /// Limits what may wait unwritten to `backlog`.
    pub fn within(mut self, backlog: Backlog) -> Self {
        self.lanes = Lanes::within(backlog);
        self
    }

    /// What another thread copies into while this one is busy.
    pub(crate) fn share_copies(&mut self) -> Arc<Mutex<Copies>> {
        self.lanes.share_copies()
    }

    /// What was found so far.
    pub fn totals(&self) -> Totals {
        let by_now = || self.lanes.crowded_out();
        Totals {
            unnamed: self.places.unnamed,
            lanes: self.lanes.count(),
            crowded_out: self.stop.as_ref().map_or_else(by_now, Stop::crowded_out),
            damaged_lanes: self.lanes.damaged(),
            ..self.totals
        }
    }

    /// Time of the latest of what was told.
    pub fn latest(&self) -> Nanos {
        self.latest.any()
    }

    /// Time of the latest event, and of what threads did: while only births and wakes are later, the trace
    /// does not tell by itself how time goes by.
    pub fn told(&self) -> Nanos {
        self.latest.event()
    }

    /// Reads what is new.
    pub fn pass(
        &mut self,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) -> PassOutcome {
        let mut pass = Pass::over(region, outside, sink);
        let was_full = region.is_full();
        region.header.rein_in(region.stations.len() as u32);
        self.discover(region);
        self.find_clock(&mut pass);
        let now_ns = self.horizon.now_ns();
        self.cells.take_ended(); // whose death was read from its station has left that
        if self.flight_memory.is_none() {
            self.drain_lanes(Reach::Before(now_ns), &mut pass);
        }
        if self.lanes.backlog.has_too_many_chunks() {
            self.lanes.backlog.note_full();
            pass.found.is_held = true;
            return pass.found;
        }
        self.settle(stations::UNWRITTEN_A_PASS, &mut pass);
        self.cells.retain_plain();
        let have_more = pass.found.is_cut_short || pass.found.has_untold;
        if have_more && self.can_look_later(region) {
            self.clear_out(&mut pass);
            return pass.found;
        }
        self.look_at_all(&mut pass);
        self.take_stock(now_ns, &mut pass);
        self.count_filtered(&mut pass);
        pass.found.short &= was_full;
        pass.found
    }

    /// A process of this memory is no more: reads what it left, and closes the accounts of its
    /// coroutines. Its stations are for others.
    pub fn bury(
        &mut self,
        process: ProcessId,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let mut pass = Pass::over(region, outside, sink);
        // Of a thread that lives nothing is the last: what it is amid will be there later.
        if self.flight_memory.is_none() && self.lanes.have_told_of(process) {
            self.drain_lanes(Reach::End, &mut pass);
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

    /// After the last event: reads every station once more, whatever its head says, then the
    /// wakes, and closes each coroutine's account. One look finds all that the slots hold; more
    /// would never end while somebody still writes. Of those who may go on, it is to be said before
    /// that it is over, see [`stop`](Harvest::stop).
    pub fn finish(&mut self, region: &Region<'_>, outside: &mut dyn Outside, sink: &mut dyn Sink) {
        self.pass(region, outside, sink);
        self.meet_silent_peers(region, outside, sink);
        let mut pass = Pass::over(region, outside, sink);
        self.take_rest(&mut pass);
    }

    /// Reads lanes and stations to their ends, and closes each coroutine's account.
    fn take_rest(&mut self, pass: &mut Pass<'_>) {
        self.drain_lanes(Reach::End, pass);
        for index in 0..self.cells.len() {
            self.drain_to_the_end(index, pass);
            if self.cells[index].is_known() {
                self.close(index, pass);
            }
        }
    }

    /// Reads a station's new events, oldest first, as far as lanes may not still bring them.
    fn drain(&mut self, index: usize, pass: &mut Pass<'_>) {
        let head = pass.region.stations[index].event_head();
        let to_read = self.head_to_read(index, head);
        let end = self.end_of_slots(index, to_read, pass.region);
        self.drain_before(index, head, end, pass);
    }

    /// Up to which event slots are read, if not as far as they go. What comes after the head was read may
    /// be in a lane, also if that is the first.
    fn end_of_slots(&mut self, index: usize, head: u64, region: &Region<'_>) -> Option<u64> {
        let cell = &mut self.cells[index];
        match cell.plain {
            Some(_) => None,
            // Lanes are left as they are, or there are none.
            None if self.flight_memory.is_some() || self.summary.is_some() => Some(head),
            None if Lanes::are_used(region) => Some(cell.owed(head, &self.lanes)),
            None => Lanes::are_there(region).then_some(head),
        }
    }

    fn drain_to_the_end(&mut self, index: usize, pass: &mut Pass<'_>) {
        let head = pass.region.stations[index].event_head();
        self.drain_before(index, head, None, pass);
    }

    /// Reads events from the slots, up to `end` if that is set.
    fn drain_before(&mut self, index: usize, head: u64, end: Option<u64>, pass: &mut Pass<'_>) {
        let station = &pass.region.stations[index];
        self.notice_usurper(index, pass);
        if !self.cells[index].is_known() && !self.introduce(index, None, pass) {
            return;
        }
        let before = self.totals;
        let was_dead = station.identity().is_some_and(|it| it.is_dead);
        self.cells[index].follow(station, head);
        match end.or_else(|| self.end_at_stop(index, head)) {
            Some(end) => self.drain_slots_before(index, end, pass),
            None => self.drain_slots(index, station, pass),
        }
        let events = self.totals.events - before.events;
        pass.found.events += events;
        pass.found.most = pass.found.most.max(events);
        pass.found.lost |= self.totals.lost > before.lost;
        self.look_at_line_0(index, station, was_dead, pass);
        // What is still unread is come back to, and so is who has ended but is not marked as dead.
        let visited = match self.cells[index].has_ended() {
            true => head.wrapping_sub(1),
            false => head.min(self.cells[index].next_n()),
        };
        self.cells.set_head(index, visited);
        if was_dead && self.cells[index].is_over(station) {
            self.vacate(index, pass);
        }
    }
}
