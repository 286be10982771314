//! A coroutine as its station has it at one moment: all that a snapshot of a flight recorder needs
//! of it besides the records of lanes.

use ctp_nostd::Region;
use ctp_nostd::dialect::Fetched;
use ctp_nostd::inspect::WakeState;
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::slot::Epoch;
use ctp_trace::record::{Aggregate, CoroutineId, ProcessId, Tally};

use super::cell::{Cell, MOST_AT_ONCE};
use super::{Harvest, Places};

/// Whose station it is, or was.
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
    /// It is a v1 peer's.
    pub is_plain: bool,
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
    /// Its latest events, without a gap, with their indices.
    pub latest: Vec<(u64, Epoch)>,
    /// Its wakes, if its runtime tells of them.
    pub wakes: Option<WakeState>,
    /// What its program summed up of it.
    pub aggregate: Option<Box<Aggregate>>,
    /// Its account, as far as it does not depend on what is recorded.
    pub tally: Tally,
}

impl StationCoroutine {
    /// The same with the times of the recorder's clock, where its own are so far ahead.
    fn by_recorders_clock(mut self, ahead_ns: i64) -> Self {
        let events = self
            .latest
            .iter_mut()
            .map(|(_, epoch)| &mut epoch.timestamp);
        let wakes = self.wakes.iter_mut().map(|wakes| &mut wakes.at_ns);
        let own = [&mut self.birth_ts, &mut self.last_ts].into_iter();
        // 0 is a time that is not known.
        for time in events.chain(wakes).chain(own).filter(|time| **time != 0) {
            *time = time.saturating_add_signed(ahead_ns.saturating_neg());
        }
        self
    }

    /// The first of its latest events that is later than this.
    pub fn first_after(&self, until_ns: u64) -> Option<u64> {
        let mut latest = self.latest.iter();
        let first = latest.find(|(_, epoch)| until_ns < epoch.timestamp);
        first.map(|(n, _)| *n)
    }

    /// When the latest was that it tells of, up to this time.
    pub fn latest_until(&self, until_ns: u64) -> Option<u64> {
        let events = self.latest.iter().map(|(_, epoch)| epoch.timestamp);
        let besides = [Some(self.last_ts), self.wakes.map(|wakes| wakes.at_ns)];
        let all = events.chain(besides.into_iter().flatten());
        all.filter(|at| *at <= until_ns).max()
    }
}

/// Looks at slots that change all the time.
const MOST_LOOKS: usize = 128;

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
        let station = region.stations.get(index)?;
        let was_dead = station.identity().is_some_and(|it| it.is_dead);
        let (latest, end_n) = cell.latest(station);
        let is_plain = cell.plain.is_some();
        let tells_wakes = station.identity().is_some_and(|it| it.tells_wakes);
        let last = latest.last().map(|(_, epoch)| epoch.timestamp);
        let last_ts = last.unwrap_or(cell.birth_ts());
        let had = end_n.wrapping_sub(cell.base_n());
        let is_credible = had <= MOST_AT_ONCE;
        let events = if is_credible {
            had
        } else {
            latest.len() as u64
        };
        let tally = self.tally_of(
            &cell.read_to(end_n),
            (station, station.event_head()),
            region,
        );
        let occupant = StationCoroutine {
            memory: self.memory,
            station: index as u32,
            coroutine: cell.coroutine,
            process: cell.process,
            is_plain,
            generation: cell.generation(),
            birth_ts: cell.birth_ts(),
            last_ts,
            has_ended: was_dead,
            base_n: end_n.wrapping_sub(events),
            end_n,
            wakes: (!is_plain && tells_wakes).then(|| station.wakes()),
            aggregate: self.aggregate_of(index, station, last_ts).map(Box::new),
            tally: Tally {
                attempted: events + u64::from(is_plain && was_dead) + cell.left_out(station),
                recorded: 0,
                inexact: tally.inexact || !is_credible,
                ..tally
            },
            latest,
        };
        Some(occupant.by_recorders_clock(self.ahead_ns()))
    }

    /// What is known of places, to go on from.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }
}

impl Cell {
    /// The latest events that slots hold, without a gap, and the index after the last of them.
    fn latest(&self, station: &Station) -> (Vec<(u64, Epoch)>, u64) {
        let head = match self.plain {
            Some(_) => self.next_n(),
            None => station.event_head(),
        };
        let (mut latest, mut n) = (Vec::new(), self.first_held(head));
        for _ in 0..MOST_LOOKS {
            match self.dialect().fetch(station, n) {
                Fetched::Whole(epoch) => latest.push((n, epoch)),
                Fetched::Overwritten(oldest) => {
                    latest.clear();
                    n = oldest;
                    continue;
                }
                Fetched::Torn | Fetched::NotYet if head <= n => break,
                Fetched::Torn | Fetched::NotYet => latest.clear(),
            }
            n = n.wrapping_add(1);
        }
        (latest, n)
    }

    /// The first of its events that slots can hold.
    fn first_held(&self, head: u64) -> u64 {
        let had = head.wrapping_sub(self.base_n());
        head.wrapping_sub(had.min(SLOTS as u64))
    }
}
