//! A coroutine as its station has it at one moment: all that a snapshot of a flight recorder needs
//! of it besides the records of lanes.

use ctp_nostd::Region;
use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::inspect::WakeState;
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::station_copy::{SlotCopies, StationWords};
use ctp_trace::record::{Aggregate, CoroutineId, ProcessId, Tally};

use super::cell::{Cell, MOST_AT_ONCE};
use super::{Harvest, Places};

/// Whose station it is, or was.
///
/// Plain data that are copied at one moment: no field changes after that.
#[derive(Clone, Debug, Default)]
pub struct StationCoroutine {
    /// In which of the recording's memories.
    pub memory: u32,
    /// Which station.
    pub station: u32,
    /// Its number in the trace.
    pub coroutine: CoroutineId,
    /// Its process.
    pub process: ProcessId,
    /// How a v1 peer numbers its events; nothing for our probe.
    pub plain: Option<Dialect>,
    /// Two for each use of the station.
    pub generation: u32,
    /// When it was born, on the monotonic clock.
    pub birth_ts: u64,
    /// When its latest event was, on the monotonic clock.
    pub last_ts: u64,
    /// It is over.
    pub has_ended: bool,
    /// Index in the station of its first event.
    pub base_n: u64,
    /// Index in the station of the event after its latest one.
    pub end_n: u64,
    /// Index and time, on the monotonic clock, of each event that its slots hold, up to the latest
    /// and without a gap.
    pub held: Vec<(u64, u64)>,
    /// Its wakes, if its runtime tells of them.
    pub wakes: Option<WakeState>,
    /// What its program summed up of it.
    pub aggregate: Option<Box<Aggregate>>,
    /// Its account, as far as it does not depend on what is recorded.
    pub tally: Tally,
    /// What the station said.
    pub copy: StationCopy,
}

/// What a station said at one moment.
#[derive(Clone, Debug, Default)]
pub struct StationCopy {
    words: StationWords,
    /// Nothing once the slots are not needed any more.
    slots: Option<Box<SlotCopies>>,
}

impl StationCopy {
    fn of(station: &Station) -> Self {
        let words = StationWords::of(station);
        let slots = Some(Box::new(SlotCopies::of(station)));
        StationCopy { words, slots }
    }

    /// Subtracts this from the times of events and of the latest wake.
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
    /// The same with the times of the recorder's clock, where its own are so far ahead.
    fn by_recorders_clock(mut self, ahead_ns: i64) -> Self {
        let events = self.held.iter_mut().map(|(_, at_ns)| at_ns);
        let wakes = self.wakes.iter_mut().map(|wakes| &mut wakes.at_ns);
        let own = [&mut self.birth_ts, &mut self.last_ts].into_iter();
        // 0 is a time that is not known.
        for time in events.chain(wakes).chain(own).filter(|time| **time != 0) {
            *time = time.saturating_add_signed(ahead_ns.saturating_neg());
        }
        self.copy.move_back(ahead_ns);
        self
    }

    /// Does a v1 peer write its station?
    pub fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// Forgets the events that the slots hold.
    pub fn forget_slots(&mut self) {
        self.held = Vec::new();
        self.copy.slots = None;
    }

    /// The station as it was, but with another word for the coroutine or thread that woke last, which is
    /// made from the time of the wake and the word.
    pub fn to_station(&self, waker: impl FnOnce(u64, u32) -> u32) -> Station {
        let StationCopy { words, slots } = &self.copy;
        let mut words = words.clone();
        let (at_ns, word) = words.waker();
        words.set_waker(waker(at_ns, word));
        // Another process may have written anything there since the coroutine was met.
        let generation = (!self.is_plain()).then_some(self.generation);
        words.set_identity(generation, self.birth_ts);
        if !self.is_plain() {
            words.set_event_head(self.end_n);
        }
        words.to_station(slots.as_deref())
    }

    /// The first of its latest events that is later than this.
    pub fn first_after(&self, until_ns: u64) -> Option<u64> {
        let mut held = self.held.iter();
        let first = held.find(|(_, at_ns)| until_ns < *at_ns);
        first.map(|(n, _)| *n)
    }

    /// When the latest was that it tells of, up to this time.
    pub fn latest_until(&self, until_ns: u64) -> Option<u64> {
        let events = self.held.iter().map(|(_, at_ns)| *at_ns);
        let besides = [Some(self.last_ts), self.wakes.map(|wakes| wakes.at_ns)];
        let all = events.chain(besides.into_iter().flatten());
        all.filter(|at| *at <= until_ns).max()
    }
}

impl Harvest {
    /// Those that have a station.
    pub(crate) fn occupants<'r>(
        &'r self,
        region: &'r Region<'r>,
    ) -> impl Iterator<Item = StationCoroutine> + 'r {
        (0..self.cells.len()).filter_map(|index| self.occupant_of(index, region))
    }

    /// The coroutine of this station, if one is known.
    pub(super) fn occupant_of(
        &self,
        index: usize,
        region: &Region<'_>,
    ) -> Option<StationCoroutine> {
        let cell = self.cells.get(index).filter(|cell| cell.is_known())?;
        let copy = StationCopy::of(region.stations.get(index)?);
        let station = &copy.to_station();
        let was_dead = station.identity().is_some_and(|it| it.is_dead);
        let (held, end_n) = cell.held(station);
        let is_plain = cell.plain.is_some();
        let tells_wakes = station.identity().is_some_and(|it| it.tells_wakes);
        let last_ts = held.last().map_or(cell.birth_ts(), |(_, at_ns)| *at_ns);
        let had = end_n.wrapping_sub(cell.base_n());
        let is_credible = had <= MOST_AT_ONCE;
        let events = if is_credible { had } else { held.len() as u64 };
        let tally = self.tally_of(
            &cell.read_to(end_n),
            (station, station.event_head()),
            region,
        );
        let occupant = StationCoroutine {
            memory: self.flight_memory.unwrap_or_default(),
            station: index as u32,
            coroutine: cell.coroutine,
            process: cell.process,
            plain: cell.plain,
            generation: cell.generation(),
            birth_ts: cell.birth_ts(),
            last_ts,
            has_ended: was_dead,
            base_n: end_n.wrapping_sub(events),
            end_n,
            wakes: (!is_plain && tells_wakes).then(|| station.wakes()),
            aggregate: self
                .aggregate_of(index, &region.stations[index], last_ts)
                .map(Box::new),
            tally: Tally {
                attempted: events + u64::from(is_plain && was_dead) + cell.left_out(station),
                recorded: 0,
                inexact: tally.inexact || !is_credible,
                ..tally
            },
            held,
            copy,
        };
        Some(occupant.by_recorders_clock(self.ahead_ns()))
    }

    /// What is known of places, to go on from.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }
}

impl Cell {
    /// Index and time of the latest events that slots hold, without a gap, and the index after the
    /// last of them.
    fn held(&self, station: &Station) -> (Vec<(u64, u64)>, u64) {
        let head = match self.plain {
            Some(_) => self.next_n(),
            None => station.event_head(),
        };
        let (mut held, mut n) = (Vec::new(), self.first_held(head));
        // Each skip leads to a later event that the slots hold, so that few steps are enough.
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

    /// The first of its events that slots can hold.
    fn first_held(&self, head: u64) -> u64 {
        let had = head.wrapping_sub(self.base_n());
        head.wrapping_sub(had.min(SLOTS as u64))
    }
}
