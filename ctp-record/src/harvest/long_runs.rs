//! Finds coroutines that have run for long without a suspend, for inspections of their threads.

use ctp_nostd::Region;
use ctp_nostd::dialect::Fetched;
use ctp_trace::record::{CoroutineId, EventKind, Nanos, ProcessId};

use super::emit::Source;
use super::{Harvest, convert};

/// A run that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongRun {
    pub coroutine: CoroutineId,
    pub process: ProcessId,
    /// The time at which it began.
    pub since: Nanos,
}

impl Harvest {
    /// The run of this station's coroutine, if it has run since `before_ns` of the monotonic clock or
    /// longer. Coroutines of v1 peers are left out.
    pub(crate) fn long_run(
        &self,
        index: usize,
        region: &Region<'_>,
        before_ns: u64,
    ) -> Option<LongRun> {
        let cell = self.cells.get(index).filter(|cell| cell.is_ours())?;
        let station = region.stations.get(index)?;
        if before_ns < station.latest_event_ns() || cell.hidden(station).is_some() {
            return None;
        }
        let latest = station.event_head().wrapping_sub(1);
        let Fetched::Whole(epoch) = cell.dialect().fetch(station, latest) else {
            return None;
        };
        let is_same_coroutine = epoch.generation == cell.generation();
        let is_run = convert::kind_of_slot(&epoch, Source::Ours) == Some(EventKind::Run);
        (is_same_coroutine && is_run).then(|| LongRun {
            coroutine: cell.coroutine,
            process: cell.process,
            since: self.horizon.nanos(epoch.timestamp),
        })
    }
}
