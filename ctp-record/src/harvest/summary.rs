//! Summaries: of each coroutine the totals that its program keeps and its last few events, instead
//! of its history. Totals are told now and then, when the coroutine ends, and at the end; the pause
//! doubles each time, so that the trace hardly grows with time and a recorder that is killed has
//! told at least half.

use ctp_nostd::Region;
use ctp_nostd::aggregate::{self, Bins, Latched};
use ctp_nostd::layout::Station;
use ctp_trace::record::{self, Aggregate, Durations, Nanos, Record, Tally};

use super::{Harvest, Pass};

/// How long after the first pass all totals are told for the first time.
const FIRST_PAUSE_NS: u64 = 1_000_000_000;

/// When totals are told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    bins: record::Bins,
    pause_ns: u64,
    /// Nothing before the first pass.
    next_ns: Option<u64>,
}

impl Summary {
    pub(super) fn new(bins: Bins) -> Self {
        Summary {
            bins: record::Bins {
                lo: bins.lo() as u8,
                step: bins.step() as u8,
            },
            pause_ns: FIRST_PAUSE_NS,
            next_ns: None,
        }
    }

    /// Is it time to tell? Then the next time is twice as far off.
    fn is_due(&mut self, now_ns: u64) -> bool {
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
    /// Reads a memory whose probes keep aggregates: these are recorded, and of events only the
    /// latest.
    #[must_use]
    pub fn summing_up(self, bins: Bins) -> Self {
        Harvest {
            summary: Some(Summary::new(bins)),
            ..self
        }
    }

    /// Reads a flight recorder's memory, of this number: its lanes are left alone.
    #[must_use]
    pub fn in_flight(self, memory: u32) -> Self {
        Harvest {
            flight_memory: Some(memory),
            ..self
        }
    }

    /// Are the totals of this station's coroutine told, and not its history? A plain v1 peer has
    /// none, so that its events are recorded as ever.
    pub(super) fn sums_up(&self, index: usize) -> bool {
        self.summary.is_some() && self.cells[index].plain.is_none()
    }

    /// Events that coroutines of this memory had, also those that became no records: where totals
    /// are kept instead of history, most do not.
    pub fn happened(&self, region: &Region<'_>) -> u64 {
        if self.summary.is_none() {
            return self.totals.events;
        }
        // A plain v1 peer keeps no head.
        let plain = self.cells.iter().filter(|cell| cell.plain.is_some());
        let recorded = plain.map(|cell| cell.recorded);
        let heads = region.allocated().iter().map(Station::event_head);
        // What somebody scribbled there may be any number.
        recorded.chain(heads).fold(0, u64::saturating_add)
    }

    /// Something happened here: who is new is introduced, and who has ended is read and closed. Who
    /// counts nothing is read like any other.
    pub(super) fn glance(&mut self, index: usize, pass: &mut Pass<'_>) {
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

    /// If it is time: tells the last events and the totals of each coroutine that went on.
    pub(super) fn take_stock(&mut self, now_ns: u64, pass: &mut Pass<'_>) {
        if !self.summary.as_mut().is_some_and(|it| it.is_due(now_ns)) {
            return;
        }
        for index in 0..self.cells.len() {
            let head = pass.region.stations[index].event_head();
            let has_gone_on = self.cells[index].is_known() && self.cells[index].next_n() != head;
            if has_gone_on && self.sums_up(index) {
                self.drain(index, pass);
                self.tell_totals(index, pass);
            }
        }
    }

    /// As [`tell_totals`](Harvest::tell_totals), for the last time: totals that were told before and
    /// cannot be read again do not tell of all that there was.
    pub(super) fn tell_totals_at_last(&mut self, index: usize, pass: &mut Pass<'_>) -> bool {
        let is_told = self.tell_totals(index, pass);
        let cell = &mut self.cells[index];
        cell.inexact |= is_told && !cell.has_told_latest_totals();
        is_told
    }

    /// Tells the totals of this coroutine, unless nothing happened since they were told last, or
    /// they cannot be read. True if any were ever told.
    pub(super) fn tell_totals(&mut self, index: usize, pass: &mut Pass<'_>) -> bool {
        let Some(summary) = self.summary.filter(|_| self.cells[index].is_ours()) else {
            return false;
        };
        let station = &pass.region.stations[index];
        let cell = &mut self.cells[index];
        if !cell.has_told_latest_totals() {
            match totals_of(station, cell.generation()) {
                Statistics::Both(both) => {
                    cell.note_totals();
                    let last_ts = self.cells[index].last_ts;
                    let aggregate = self.aggregate(index, (station, last_ts), summary, *both);
                    pass.sink.take(Record::Aggregate(Box::new(aggregate)));
                }
                Statistics::Nonsense => cell.inexact = true,
                Statistics::Nothing => {}
            }
        }
        self.cells[index].has_told_totals()
    }

    fn aggregate(
        &self,
        index: usize,
        (station, last_ts): (&Station, u64),
        summary: Summary,
        [waiting, running]: [Durations; 2],
    ) -> Aggregate {
        Aggregate {
            coroutine: self.cells[index].coroutine,
            at: self.as_of(index, last_ts),
            stands_for_events: self.flight_memory.is_none(),
            left_out: station.nested().into(),
            bins: summary.bins,
            waiting,
            running,
        }
    }

    /// Up to when totals are told that were read after an event at this time: nothing has changed
    /// them since. Its program may have ended long before they are read, and is no older by that.
    fn as_of(&self, index: usize, last_ts: u64) -> Nanos {
        let at_ns = last_ts.max(self.cells[index].birth_ts());
        self.horizon.nanos(at_ns).min(self.now())
    }

    /// The totals of this coroutine as they stand, if they can be read, after an event at this time.
    pub(super) fn aggregate_of(
        &self,
        index: usize,
        station: &Station,
        last_ts: u64,
    ) -> Option<Aggregate> {
        let summary = self.summary.filter(|_| self.cells[index].is_ours())?;
        match totals_of(station, self.cells[index].generation()) {
            Statistics::Both(both) => {
                Some(self.aggregate(index, (station, last_ts), summary, *both))
            }
            Statistics::Nonsense | Statistics::Nothing => None,
        }
    }

    /// Events of this station's coroutine become no records. Of one whose totals are told it is
    /// known at its end whether they are lost.
    pub(super) fn miss(&mut self, index: usize, events: u64) {
        if !self.sums_up(index) {
            add(&mut self.totals.lost, events);
        }
    }

    /// Counts what became no records of a coroutine that is closed, as far as it was not counted.
    pub(super) fn write_off(&mut self, index: usize, tally: &Tally, is_summed_up: bool) {
        let unread = tally
            .attempted
            .saturating_sub(self.cells[index].accounted());
        let not_recorded = tally.attempted.saturating_sub(tally.recorded);
        match self.sums_up(index) {
            false => add(&mut self.totals.lost, unread),
            true if is_summed_up => add(&mut self.totals.summed_up, not_recorded),
            true => add(&mut self.totals.lost, not_recorded),
        }
    }

    /// A dump does not tell when it was taken.
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

/// What can be read of a station's statistics.
enum Statistics {
    /// Waiting and running.
    Both(Box<[Durations; 2]>),
    /// Words that no probe of ours wrote.
    Nonsense,
    /// The program was too quick, or somebody else is in, or its probe keeps none.
    Nothing,
}

fn totals_of(station: &Station, generation: u32) -> Statistics {
    let read = |it: Latched<'_>| it.read().filter(is_kept);
    let both = read(station.waiting()).zip(read(station.running()));
    let is_its_own = station
        .identity()
        .is_some_and(|it| it.generation == generation);
    let Some((waiting, running)) = both.filter(|_| is_its_own) else {
        return Statistics::Nothing;
    };
    match (durations(&waiting), durations(&running)) {
        (Some(waiting), Some(running)) => Statistics::Both(Box::new([waiting, running])),
        _ => Statistics::Nonsense,
    }
}

/// A probe that keeps no aggregates leaves the zeros there that the memory was made of.
fn is_kept(found: &aggregate::Durations) -> bool {
    found.count > 0 || found.min_ns == u64::MAX
}

/// For the trace, unless the words cannot be what a probe of ours wrote.
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
