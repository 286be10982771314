//! Finds coroutines that have waited long for a descriptor, for observations from outside.

use ctp_nostd::Region;
use ctp_trace::record::{CoroutineId, EventKind, Nanos, ProcessId, WaitKind};
use ctp_trace::verdict::wakes_since;

use super::cell::StationCell;
use super::latest_event::LatestEvent;
use super::{Harvest, convert};

/// A wait for a descriptor that has not been ended by a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DescriptorWait {
    pub coroutine: CoroutineId,
    pub process: ProcessId,
    /// The time of its suspend.
    pub since: Nanos,
    /// The descriptor's number.
    pub fd: u64,
    /// Waits to read, not to write.
    pub reads: bool,
}

impl Harvest {
    /// Whether this station's coroutine may wait for a descriptor. See [`may_be`](Self::may_be).
    pub(crate) fn may_wait_for_descriptor(&self, index: usize) -> bool {
        self.may_be(index, StationCell::may_wait_for_descriptor)
    }

    /// The wait of this station's coroutine, if the coroutine has waited for a descriptor at least since `since_ns` of the
    /// program's monotonic clock.
    pub(crate) fn descriptor_wait(
        &self,
        index: usize,
        region: &Region<'_>,
        since_ns: u64,
    ) -> Option<DescriptorWait> {
        let LatestEvent {
            cell,
            station,
            kind,
            epoch,
        } = self.latest_event_until(index, region, since_ns)?;
        let reads = match convert::wait_kind(epoch.tail.wait_kind) {
            WaitKind::Readable => true,
            WaitKind::Writable => false,
            _ => return None,
        };
        let records_wakes = station
            .identity()
            .is_some_and(|identity| identity.records_wakes);
        let wakes = wakes_since(station.wakes().count, epoch.tail.wake_seen);
        let is_woken = records_wakes && wakes != Some(0);
        let is_suspend = kind == Some(EventKind::Suspend);
        (is_suspend && !is_woken).then(|| DescriptorWait {
            coroutine: cell.coroutine,
            process: cell.process,
            since: self.horizon.nanos(epoch.timestamp),
            fd: epoch.arg,
            reads,
        })
    }
}
