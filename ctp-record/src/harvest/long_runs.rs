//! Finds coroutines that have run for long without a suspend, for inspections of their threads.

use ctp_nostd::Region;
use ctp_trace::record::{CoroutineId, EventKind, Nanos, ProcessId};

use super::Harvest;
use super::cell::StationCell;

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

impl Harvest {
    /// The run of this station's coroutine, if the coroutine has run at least since `since_ns` of the program's monotonic
    /// clock. Coroutines of v1 peers are left out.
    pub fn long_run(&self, index: usize, region: &Region<'_>, since_ns: u64) -> Option<LongRun> {
        let latest = self.latest_event_until(index, region, since_ns)?;
        let is_run = latest.kind == Some(EventKind::Run);
        is_run.then(|| LongRun {
            coroutine: latest.cell.coroutine,
            process: latest.cell.process,
            since: self.horizon.nanos(latest.epoch.timestamp),
        })
    }

    /// Whether this station's coroutine may be running. See [`may_be`](Self::may_be).
    pub(crate) fn may_run(&self, index: usize) -> bool {
        self.may_be(index, StationCell::may_run)
    }
}
