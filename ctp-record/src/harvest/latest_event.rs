//! The latest event of a station's coroutine, and which stations are worth looking at.

use ctp_nostd::Region;
use ctp_nostd::dialect::Fetched;
use ctp_nostd::layout::Station;
use ctp_nostd::slot::Epoch;
use ctp_trace::record::EventKind;

use super::cell::StationCell;
use super::emit::ProbeKind;
use super::{Harvest, convert};

/// The latest event of a station's coroutine.
pub(super) struct LatestEvent<'h> {
    pub(super) cell: &'h StationCell,
    pub(super) station: &'h Station,
    pub(super) kind: Option<EventKind>,
    pub(super) epoch: Epoch,
}

impl Harvest {
    /// The latest event of this station's coroutine. `None` for a v1 peer, if the latest event was excluded, and if its
    /// slot cannot be read or has an event of another coroutine.
    pub(super) fn latest_event_of<'h>(
        &'h self,
        index: usize,
        region: &'h Region<'_>,
    ) -> Option<LatestEvent<'h>> {
        let cell = self.cells.get(index).filter(|cell| cell.is_ours())?;
        let station = region.stations.get(index)?;
        if cell.hidden(station).is_some() {
            return None;
        }
        let latest = station.event_head().wrapping_sub(1);
        let Fetched::Whole(epoch) = cell.dialect().fetch(station, latest) else {
            return None;
        };
        let is_same_coroutine = epoch.generation == cell.generation();
        is_same_coroutine.then(|| LatestEvent {
            cell,
            station,
            kind: convert::kind_of_slot(&epoch, ProbeKind::Ours),
            epoch,
        })
    }

    /// Like [`latest_event_of`](Self::latest_event_of), if the event is no later than `until_ns` of the program's
    /// monotonic clock.
    pub(super) fn latest_event_until<'h>(
        &'h self,
        index: usize,
        region: &'h Region<'_>,
        until_ns: u64,
    ) -> Option<LatestEvent<'h>> {
        let is_ours = self.cells.get(index).is_some_and(StationCell::is_ours);
        if !is_ours || until_ns < region.stations.get(index)?.latest_event_ns() {
            return None;
        }
        let latest = self.latest_event_of(index, region)?;
        // The coroutine may have had an event since its latest time was read.
        (latest.epoch.timestamp <= until_ns).then_some(latest)
    }

    /// Whether this station's coroutine may be in a state, according to its cell. Returns true if the cell may be outdated.
    /// The station itself is not read, because most stations are not in the processor's cache.
    pub(super) fn may_be(&self, index: usize, state: fn(&StationCell) -> bool) -> bool {
        self.may_be_outdated() || self.cells.get(index).is_some_and(state)
    }

    /// Whether cells may be far behind the stations: in a flight recording, in a summary, or with a large backlog.
    fn may_be_outdated(&self) -> bool {
        !self.reads_each_event() || self.lanes.backlog.has_too_many_chunks()
    }
}
