//! A coroutine as its station states it at one moment. A flight recorder's snapshot needs this and the
//! records of lanes.

use ctp_nostd::Region;
use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::inspect::WakeState;
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::station_copy::{SlotCopies, StationWords};
use ctp_trace::record::{Aggregate, CoroutineId, EventCounts, ProcessId};

use super::cell::{MAX_CREDIBLE_EVENTS, StationCell};
use super::{Harvest, SiteTable};

/// A station's present or former coroutine.
///
/// Plain data, copied at one moment and not changed afterwards.
#[derive(Clone, Debug, Default)]
pub struct StationCoroutine {
    /// The number of the memory within the recording.
    pub memory: u32,
    /// The index of the station.
    pub station: u32,
    /// The coroutine's number in the trace.
    pub coroutine: CoroutineId,
    /// The coroutine's process.
    pub process: ProcessId,
    /// How a v1 peer numbers its events; `None` for this project's probe.
    pub v1_dialect: Option<Dialect>,
    /// The station's generation, which grows by two with each use.
    pub generation: u32,
    /// When it was born, on the monotonic clock.
    pub birth_ts: u64,
    /// When its latest event was, on the monotonic clock.
    pub last_ns: u64,
    /// The coroutine has ended.
    pub has_ended: bool,
    /// Index of its first event in the station.
    pub base_n: u64,
    /// Index of the event after its latest event in the station.
    pub end_n: u64,
    /// Index and monotonic time of each event that the slots hold, up to the latest, without a gap.
    pub held: Vec<(u64, u64)>,
    /// Its wakes, if its runtime reports wakes.
    pub wakes: Option<WakeState>,
    /// The totals that its program kept.
    pub aggregate: Option<Box<Aggregate>>,
    /// Its account, as far as that does not depend on what is recorded.
    pub event_counts: EventCounts,
    /// The copied words of the station.
    pub copy: StationCopy,
}

/// A copy of a station's words.
#[derive(Clone, Debug, Default)]
pub struct StationCopy {
    words: StationWords,
    /// `None` once the slots are not needed any more.
    slots: Option<Box<SlotCopies>>,
}

impl StationCopy {
    fn of(station: &Station) -> Self {
        let words = StationWords::of(station);
        let slots = Some(Box::new(SlotCopies::of(station)));
        StationCopy { words, slots }
    }

    /// Subtracts `by_ns` from the times of events and of the latest wake.
    fn move_back(&mut self, by_ns: i64) {
        self.words.move_wake_back(by_ns);
        if let Some(slots) = &mut self.slots {
            slots.move_back(by_ns);
        }
    }

    fn to_station(&self) -> Station {
        self.words.to_station(self.slots.as_deref())
    }
}

impl StationCoroutine {
    /// Converts all times to the recorder's clock; `ahead_ns` is how far the program's clock is ahead.
    fn by_recorders_clock(mut self, ahead_ns: i64) -> Self {
        let events = self.held.iter_mut().map(|(_, at_ns)| at_ns);
        let wakes = self.wakes.iter_mut().map(|wakes| &mut wakes.at_ns);
        let own = [&mut self.birth_ts, &mut self.last_ns].into_iter();
        // Time 0 means unknown.
        for time in events.chain(wakes).chain(own).filter(|time| **time != 0) {
            *time = time.saturating_add_signed(ahead_ns.saturating_neg());
        }
        self.copy.move_back(ahead_ns);
        self
    }

    /// Whether a v1 peer writes the station.
    pub fn is_v1_peer(&self) -> bool {
        self.v1_dialect.is_some()
    }

    /// Forgets the events that the slots hold.
    pub fn forget_slots(&mut self) {
        self.held = Vec::new();
        self.copy.slots = None;
    }

    /// Restores the station, with another word for the latest waker. `waker` returns the new word, given the
    /// time of the wake and the old word.
    pub fn to_station(&self, waker: impl FnOnce(u64, u32) -> u32) -> Station {
        let StationCopy { words, slots } = &self.copy;
        let mut words = words.clone();
        let (at_ns, word) = words.waker();
        words.set_waker(waker(at_ns, word));
        // Another process may have overwritten the identity since the coroutine was first seen.
        let generation = (!self.is_v1_peer()).then_some(self.generation);
        words.set_identity(generation, self.birth_ts);
        if !self.is_v1_peer() {
            words.set_event_head(self.end_n);
        }
        words.to_station(slots.as_deref())
    }

    /// The first of its held events that is later than `until_ns`.
    pub fn first_after(&self, until_ns: u64) -> Option<u64> {
        let mut held = self.held.iter();
        let first = held.find(|(_, at_ns)| until_ns < *at_ns);
        first.map(|(n, _)| *n)
    }

    /// The latest time that the station states, up to `until_ns`.
    pub fn latest_until(&self, until_ns: u64) -> Option<u64> {
        let events = self.held.iter().map(|(_, at_ns)| *at_ns);
        let others = [Some(self.last_ns), self.wakes.map(|wakes| wakes.at_ns)];
        let all = events.chain(others.into_iter().flatten());
        all.filter(|at| *at <= until_ns).max()
    }
}

impl Harvest {
    /// The coroutines that have a station now.
    pub(crate) fn station_coroutines<'r>(
        &'r self,
        region: &'r Region<'r>,
    ) -> impl Iterator<Item = StationCoroutine> + 'r {
        (0..self.cells.len()).filter_map(|index| self.station_coroutine(index, region))
    }

    /// The coroutine of this station, if known.
    pub(super) fn station_coroutine(
        &self,
        index: usize,
        region: &Region<'_>,
    ) -> Option<StationCoroutine> {
        let cell = self.cells.get(index).filter(|cell| cell.is_known())?;
        let copy = StationCopy::of(region.stations.get(index)?);
        let station = &copy.to_station();
        let identity = station.identity();
        let was_dead = identity.as_ref().is_some_and(|identity| identity.is_dead);
        let (held, end_n) = cell.held(station);
        let is_v1_peer = cell.v1_dialect.is_some();
        let records_wakes = identity.is_some_and(|identity| identity.records_wakes);
        let last_ns = held.last().map_or(cell.birth_ts(), |(_, at_ns)| *at_ns);
        let had = end_n.wrapping_sub(cell.base_n());
        let is_credible = had <= MAX_CREDIBLE_EVENTS;
        let events = if is_credible { had } else { held.len() as u64 };
        let event_counts = self.event_counts_of(
            &cell.read_to(end_n),
            (station, station.event_head()),
            region,
        );
        let coroutine = StationCoroutine {
            memory: self.flight_memory.unwrap_or_default(),
            station: index as u32,
            coroutine: cell.coroutine,
            process: cell.process,
            v1_dialect: cell.v1_dialect,
            generation: cell.generation(),
            birth_ts: cell.birth_ts(),
            last_ns,
            has_ended: was_dead,
            base_n: end_n.wrapping_sub(events),
            end_n,
            wakes: (!is_v1_peer && records_wakes).then(|| station.wakes()),
            aggregate: self
                .aggregate_of(index, &region.stations[index], last_ns)
                .map(Box::new),
            event_counts: EventCounts {
                attempted: events + u64::from(is_v1_peer && was_dead) + cell.unnumbered(station),
                recorded: 0,
                inexact: event_counts.inexact || !is_credible,
                ..event_counts
            },
            held,
            copy,
        };
        Some(coroutine.by_recorders_clock(self.ahead_ns()))
    }

    /// The sites known so far, for a reader that continues from here.
    pub(crate) fn sites(&self) -> &SiteTable {
        &self.sites
    }
}

impl StationCell {
    /// Index and time of the latest events that slots hold, without a gap, and the index after the last.
    fn held(&self, station: &Station) -> (Vec<(u64, u64)>, u64) {
        let head = match self.v1_dialect {
            Some(_) => self.next_n(),
            None => station.event_head(),
        };
        let (mut held, mut n) = (Vec::new(), self.first_held(head));
        // Each skip leads to a later event that the slots hold, so few steps are enough.
        for _ in 0..4 * SLOTS {
            match self.dialect().fetch(station, n) {
                Fetched::Whole(epoch) => held.push((n, epoch.timestamp)),
                Fetched::Overwritten(oldest) => {
                    held.clear();
                    n = oldest;
                    continue;
                }
                Fetched::Torn | Fetched::NotYet if head <= n => break,
                Fetched::Torn | Fetched::NotYet => held.clear(),
            }
            n = n.wrapping_add(1);
        }
        (held, n)
    }

    /// The first event that slots can hold.
    fn first_held(&self, head: u64) -> u64 {
        let had = head.wrapping_sub(self.base_n());
        head.wrapping_sub(had.min(SLOTS as u64))
    }
}
