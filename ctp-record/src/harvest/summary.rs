//! Summaries: records the totals that the program keeps of each coroutine, and its latest few events,
//! instead of its history. Totals are emitted at intervals, when a coroutine ends, and at the end. The
//! interval doubles each time. So the trace grows little with time, and a recorder that is killed has
//! emitted the totals of at least half of the time.

use ctp_nostd::Region;
use ctp_nostd::aggregate::{self, Bins};
use ctp_nostd::layout::Station;
use ctp_trace::record::{self, Aggregate, Durations, EventCounts, Nanos, Record};

use super::{Harvest, Pass};

/// How long after the first pass all totals are emitted for the first time.
const FIRST_PAUSE_NS: u64 = 1_000_000_000;

/// When totals are emitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct SummarySchedule {
    bins: record::Bins,
    pause_ns: u64,
    /// When totals are emitted next. `None` before the first pass.
    next_ns: Option<u64>,
}

impl SummarySchedule {
    pub(super) fn new(bins: Bins) -> Self {
        SummarySchedule {
            bins: record::Bins {
                lo: bins.lo() as u8,
                step: bins.step() as u8,
            },
            pause_ns: FIRST_PAUSE_NS,
            next_ns: None,
        }
    }

    /// Begins the next interval, twice as long, if totals are due now. Returns whether they are.
    fn begin_interval_if_due(&mut self, now_ns: u64) -> bool {
        let next_ns = *self
            .next_ns
            .get_or_insert(now_ns.saturating_add(self.pause_ns));
        let is_due = next_ns <= now_ns && now_ns < u64::MAX;
        if is_due {
            self.pause_ns = self.pause_ns.saturating_mul(2);
            self.next_ns = Some(now_ns.saturating_add(self.pause_ns));
        }
        is_due
    }
}

impl Harvest {
    /// Makes the reader record the totals that the memory contains, and only the latest events.
    #[must_use]
    pub fn summing_up(self, bins: Bins) -> Self {
        Harvest {
            summary: Some(SummarySchedule::new(bins)),
            ..self
        }
    }

    /// Makes the reader read a flight recorder's memory, which has this number. The lanes are not drained.
    #[must_use]
    pub fn in_flight(self, memory: u32) -> Self {
        Harvest {
            flight_memory: Some(memory),
            ..self
        }
    }

    /// Whether totals are recorded for this station's coroutine instead of its history. A v1 peer has
    /// no totals, so its events are recorded.
    pub(super) fn records_totals(&self, index: usize) -> bool {
        self.summary.is_some() && self.cells[index].v1_dialect.is_none()
    }

    /// Events that coroutines of this memory had, including those that became no records. In a summary, most
    /// events become no records.
    pub fn happened(&self, region: &Region<'_>) -> u64 {
        if self.summary.is_none() {
            return self.totals.events;
        }
        // A v1 peer keeps no head.
        let of_v1_peers = self.cells.iter().filter(|cell| cell.v1_dialect.is_some());
        let recorded = of_v1_peers.map(|cell| cell.recorded);
        let heads = region.allocated().iter().map(Station::event_head);
        // A damaged memory may hold any number here.
        recorded.chain(heads).fold(0, u64::saturating_add)
    }

    /// Notes that a station has new events. Introduces a new coroutine. A coroutine that ended, or of which
    /// no totals are kept, is drained.
    pub(super) fn note_activity(&mut self, index: usize, pass: &mut Pass<'_>) {
        let station = &pass.region.stations[index];
        let head = station.event_head();
        let is_known = self.cells[index].is_known() || self.introduce(index, None, pass);
        if !is_known || !station.is_counting() {
            return self.drain(index, pass);
        }
        self.cells.set_head(index, head);
        pass.found.events += 1;
        pass.found.most = pass.found.most.max(1);
    }

    /// If totals are due, emits the latest events and the totals of each coroutine that had new events.
    pub(super) fn emit_due_totals(&mut self, now_ns: u64, pass: &mut Pass<'_>) {
        if !self
            .summary
            .as_mut()
            .is_some_and(|summary| summary.begin_interval_if_due(now_ns))
        {
            return;
        }
        for index in 0..self.cells.len() {
            let head = pass.region.stations[index].event_head();
            let has_changed_since_stop =
                self.cells[index].is_known() && self.cells[index].next_n() != head;
            if has_changed_since_stop && self.records_totals(index) {
                self.drain(index, pass);
                self.emit_totals(index, pass);
            }
        }
    }

    /// Like [`emit_totals`](Harvest::emit_totals), for the last time. Totals that were emitted before and
    /// cannot be read again are incomplete.
    pub(super) fn emit_final_totals(&mut self, index: usize, pass: &mut Pass<'_>) -> bool {
        let is_emitted = self.emit_totals(index, pass);
        let cell = &mut self.cells[index];
        cell.inexact |= is_emitted && !cell.has_emitted_latest_totals();
        is_emitted
    }

    /// Emits the totals of this coroutine, unless nothing happened since they were last emitted, or they
    /// cannot be read. Returns whether the coroutine's totals were ever emitted.
    pub(super) fn emit_totals(&mut self, index: usize, pass: &mut Pass<'_>) -> bool {
        let Some(summary) = self.summary.filter(|_| self.cells[index].is_ours()) else {
            return false;
        };
        let station = &pass.region.stations[index];
        let cell = &mut self.cells[index];
        if !cell.has_emitted_latest_totals() {
            match totals_of(station, cell.generation()) {
                Statistics::Both(both) => {
                    cell.note_totals();
                    let last_ns = self.cells[index].last_ns;
                    let aggregate = self.aggregate(index, (station, last_ns), summary, *both);
                    pass.sink.take(Record::Aggregate(Box::new(aggregate)));
                }
                Statistics::Nonsense => cell.inexact = true,
                Statistics::Nothing => {}
            }
        }
        self.cells[index].has_emitted_totals()
    }

    fn aggregate(
        &self,
        index: usize,
        (station, last_ns): (&Station, u64),
        summary: SummarySchedule,
        [waiting, running]: [Durations; 2],
    ) -> Aggregate {
        Aggregate {
            coroutine: self.cells[index].coroutine,
            at: self.as_of(index, last_ns),
            stands_for_events: self.flight_memory.is_none(),
            left_out: station.nested().into(),
            bins: summary.bins,
            waiting,
            running,
        }
    }

    /// The time up to which totals are valid that were read after an event at `last_ns`: the time of that
    /// event, since nothing has changed them later. The program may have ended long before the totals are
    /// read.
    fn as_of(&self, index: usize, last_ns: u64) -> Nanos {
        let at_ns = last_ns.max(self.cells[index].birth_ts());
        self.horizon.nanos(at_ns).min(self.now())
    }

    /// The current totals of this coroutine, if they can be read, after an event at `last_ns`.
    pub(super) fn aggregate_of(
        &self,
        index: usize,
        station: &Station,
        last_ns: u64,
    ) -> Option<Aggregate> {
        let summary = self.summary.filter(|_| self.cells[index].is_ours())?;
        match totals_of(station, self.cells[index].generation()) {
            Statistics::Both(both) => {
                Some(self.aggregate(index, (station, last_ns), summary, *both))
            }
            Statistics::Nonsense | Statistics::Nothing => None,
        }
    }

    /// Counts events of this station's coroutine that become no records. In a summary, whether they are
    /// lost is known only when the coroutine ends.
    pub(super) fn miss(&mut self, index: usize, events: u64) {
        if !self.records_totals(index) {
            add(&mut self.totals.lost, events);
        }
    }

    /// Counts the events of a closed coroutine that became no records and were not counted before.
    pub(super) fn write_off(
        &mut self,
        index: usize,
        event_counts: &EventCounts,
        is_summed_up: bool,
    ) {
        let unread = event_counts
            .attempted
            .saturating_sub(self.cells[index].accounted());
        let not_recorded = event_counts.attempted.saturating_sub(event_counts.recorded);
        if !self.records_totals(index) {
            add(&mut self.totals.lost, unread);
        } else if is_summed_up {
            add(&mut self.totals.summed_up, not_recorded);
        } else {
            add(&mut self.totals.lost, not_recorded);
        }
    }

    /// The present time. A dump does not state when it was taken, so the time of its latest record is used.
    pub(super) fn now(&self) -> Nanos {
        match self.horizon.now_ns() {
            u64::MAX => self.latest(),
            now_ns => self.horizon.nanos(now_ns),
        }
    }
}

fn add(counter: &mut u64, events: u64) {
    *counter = counter.saturating_add(events);
}

/// The result of reading a station's statistics.
enum Statistics {
    /// The durations of waiting and of running.
    Both(Box<[Durations; 2]>),
    /// Words that this project's probe cannot have written.
    Nonsense,
    /// The program was writing too fast, the station has another owner, or the probe keeps no statistics.
    Nothing,
}

fn totals_of(station: &Station, generation: u32) -> Statistics {
    let waiting = station.waiting().read().filter(is_kept);
    let running = station.running().read().filter(is_kept);
    let is_same_coroutine = station
        .identity()
        .is_some_and(|identity| identity.generation == generation);
    let Some((waiting, running)) = waiting.zip(running).filter(|_| is_same_coroutine) else {
        return Statistics::Nothing;
    };
    match (durations(&waiting), durations(&running)) {
        (Some(waiting), Some(running)) => Statistics::Both(Box::new([waiting, running])),
        _ => Statistics::Nonsense,
    }
}

/// Whether a probe keeps aggregates here: otherwise the words are still zero, as the memory was created.
fn is_kept(found: &aggregate::Durations) -> bool {
    found.count > 0 || found.min_ns == u64::MAX
}

/// Converts to the trace's durations, unless this project's probe cannot have written these words.
fn durations(found: &aggregate::Durations) -> Option<Durations> {
    if found.count == 0 {
        return Some(Durations::default());
    }
    let in_bins: u64 = found.bins.iter().copied().map(u64::from).sum();
    let is_full = found.bins.contains(&u32::MAX);
    let is_credible = (in_bins == found.count || is_full && in_bins < found.count)
        && found.min_ns <= found.max_ns
        && found.max_ns <= found.sum_ns;
    is_credible.then(|| Durations {
        count: found.count,
        sum: Nanos(found.sum_ns),
        min: Nanos(found.min_ns),
        max: Nanos(found.max_ns),
        bins: found.bins.map(u64::from),
    })
}
