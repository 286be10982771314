//! Finds coroutines that have run for long without a suspend, for inspections of their threads.

use ctp_nostd::Region;
use ctp_nostd::dialect::Fetched;
use ctp_nostd::layout::Station;
use ctp_nostd::slot::Epoch;
use ctp_trace::record::{CoroutineId, EventKind, Nanos, ProcessId};

use super::cell::StationCell;
use super::emit::ProbeKind;
use super::{Harvest, convert};

/// A run that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongRun {
    /// The coroutine that runs.
    pub coroutine: CoroutineId,
    /// Its process.
    pub process: ProcessId,
    /// When the run began.
    pub since: Nanos,
}

/// The latest event of a station's coroutine.
pub(super) struct LatestEvent<'h> {
    pub(super) cell: &'h StationCell,
    pub(super) station: &'h Station,
    pub(super) kind: Option<EventKind>,
    pub(super) epoch: Epoch,
}

impl Harvest {
    /// The run of this station's coroutine, if the coroutine has run at least since `before_ns` of the
    /// program's monotonic clock. Coroutines of v1 peers are left out.
    pub fn long_run(
        &self,
        index: usize,
        region: &Region<'_>,
        before_ns: u64,
    ) -> Option<LongRun> {
        let latest = self.latest_event_before(index, region, before_ns)?;
        let is_run = latest.kind == Some(EventKind::Run);
        is_run.then(|| LongRun {
            coroutine: latest.cell.coroutine,
            process: latest.cell.process,
            since: self.horizon.nanos(latest.epoch.timestamp),
        })
    }

    /// Whether this station's coroutine may run. Answers without the station if the recorder reads events as they
    /// happen: most stations are not in the processor's cache.
    pub(crate) fn may_run(&self, index: usize) -> bool {
        self.may_be(index, StationCell::may_run)
    }

    /// Whether this station's coroutine may wait for a descriptor. Answers like [`may_run`](Self::may_run).
    pub(crate) fn may_wait_for_descriptor(&self, index: usize) -> bool {
        self.may_be(index, StationCell::may_wait_for_descriptor)
    }

    /// Whether cells may lack events that have happened long ago.
    fn may_be_outdated(&self) -> bool {
        !self.reads_each_event() || self.lanes.backlog.has_too_many_chunks()
    }

    fn may_be(&self, index: usize, state: fn(&StationCell) -> bool) -> bool {
        self.may_be_outdated() || self.cells.get(index).is_some_and(state)
    }

    /// The latest event of this station's coroutine, if it is no later than `before_ns` of the program's
    /// monotonic clock. `None` also if the latest event was excluded, or its slot cannot be read.
    pub(super) fn latest_event_before<'h>(
        &'h self,
        index: usize,
        region: &'h Region<'_>,
        before_ns: u64,
    ) -> Option<LatestEvent<'h>> {
        let cell = self.cells.get(index).filter(|cell| cell.is_ours())?;
        let station = region.stations.get(index)?;
        if before_ns < station.latest_event_ns() || cell.hidden(station).is_some() {
            return None;
        }
        let latest = station.event_head().wrapping_sub(1);
        let Fetched::Whole(epoch) = cell.dialect().fetch(station, latest) else {
            return None;
        };
        // The coroutine may have had an event since its latest time was read.
        let is_old = epoch.timestamp <= before_ns;
        let is_same_coroutine = epoch.generation == cell.generation();
        (is_same_coroutine && is_old).then(|| LatestEvent {
            cell,
            station,
            kind: convert::kind_of_slot(&epoch, ProbeKind::Ours),
            epoch,
        })
    }
}
