//! Finds where suspended coroutines lie in the memory of their program, for inspections of that memory.

use ctp_nostd::Region;
use ctp_trace::record::{CoroutineId, ProcessId};

use super::Harvest;

impl Harvest {
    /// The frame address of this station's suspended coroutine, if the coroutine belongs to this process.
    /// Coroutines of v1 peers are left out.
    pub(crate) fn frame(
        &self,
        index: usize,
        region: &Region<'_>,
        process: ProcessId,
    ) -> Option<(u64, CoroutineId)> {
        let latest = self.latest_event_of(index, region)?;
        let is_suspended_there = latest.cell.process == process && latest.epoch.addr != 0;
        is_suspended_there.then_some((latest.epoch.addr, latest.cell.coroutine))
    }
}
