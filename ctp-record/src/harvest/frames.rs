//! Finds where suspended coroutines lie in the memory of their program, for inspections of that memory.

use ctp_nostd::Region;
use ctp_nostd::dialect::Fetched;
use ctp_trace::record::{CoroutineId, ProcessId};

use super::Harvest;

impl Harvest {
    /// The address at which the suspended coroutine of this station keeps its trace, if it belongs to this
    /// process. Coroutines of v1 peers are left out.
    pub(crate) fn frame(
        &self,
        index: usize,
        region: &Region<'_>,
        process: ProcessId,
    ) -> Option<(u64, CoroutineId)> {
        let cell = self.cells.get(index).filter(|cell| cell.is_ours())?;
        let station = region.stations.get(index)?;
        if cell.process != process || cell.hidden(station).is_some() {
            return None;
        }
        let latest = station.event_head().wrapping_sub(1);
        let Fetched::Whole(epoch) = cell.dialect().fetch(station, latest) else {
            return None;
        };
        let is_same_coroutine = epoch.generation == cell.generation();
        (is_same_coroutine && epoch.addr != 0).then_some((epoch.addr, cell.coroutine))
    }
}
