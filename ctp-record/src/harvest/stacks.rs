//! Finds coroutines that wait on stacks of their own, so that their call stacks are read from outside.

use ctp_nostd::Region;
use ctp_nostd::suspended_stack::SuspendedStack;
use ctp_trace::record::{CoroutineId, Nanos, ProcessId};

use super::Harvest;

/// A coroutine that waits on a stack of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackWait {
    pub coroutine: CoroutineId,
    pub process: ProcessId,
    /// The index of its station.
    pub station: usize,
    /// Identifies the coroutine among those that use the station.
    pub generation: u32,
    /// When the wait began.
    pub since: Nanos,
    /// The same on the clock of the program.
    pub at_ns: u64,
}

impl StackWait {
    /// When a wait of the same coroutine began, from the time on the clock of the program.
    pub fn time_of(&self, at_ns: u64) -> Nanos {
        let later_ns = at_ns.saturating_sub(self.at_ns);
        Nanos(self.since.0.saturating_add(later_ns))
    }
}

impl Harvest {
    /// The wait of this station's coroutine, if the coroutine waits on a stack of its own at least since
    /// `since_ns` of the program's monotonic clock.
    pub(crate) fn stack_wait(
        &self,
        index: usize,
        region: &Region<'_>,
        since_ns: u64,
    ) -> Option<StackWait> {
        let station = region.stations.get(index)?;
        if !station.has_position() || since_ns < station.latest_event_ns() {
            return None;
        }
        let cell = self.cells.get(index).filter(|cell| cell.is_ours())?;
        let found = SuspendedStack::read(station).ok()?;
        // The coroutine may have run and suspended again since its latest time was read.
        let is_old = found.at_ns <= since_ns;
        (is_old && found.generation == cell.generation()).then(|| StackWait {
            coroutine: cell.coroutine,
            process: cell.process,
            station: index,
            generation: found.generation,
            since: self.horizon.nanos(found.at_ns),
            at_ns: found.at_ns,
        })
    }
}
