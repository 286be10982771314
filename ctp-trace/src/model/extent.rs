//! The time span of a recording and of each of its processes.

use crate::hash::Map;
use crate::record::{End, Nanos, ProcessEnd, ProcessId, Window};

/// The time span of a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Extent {
    pub(super) started_monotonic_ns: u64,
    /// The time of the latest record.
    latest: Nanos,
    /// The time up to which the records are complete.
    complete_until: Nanos,
    /// The final account.
    pub(super) end: Option<End>,
    /// Processes that ended before the recording did.
    pub(super) ends: Map<ProcessId, ProcessEnd>,
    /// Present in the trace of a flight recorder.
    pub(super) window: Option<Window>,
}

impl Extent {
    /// Takes the time of a record.
    #[inline]
    pub(super) fn see(&mut self, at: Nanos) {
        self.latest = self.latest.max(at);
    }

    /// Notes that the records are complete up to this time.
    #[inline]
    pub(super) fn note_complete_until(&mut self, at: Nanos) {
        self.see(at);
        self.complete_until = self.complete_until.max(at);
    }

    /// The time from which ages are measured.
    pub(super) fn end_at(&self) -> Nanos {
        let so_far = if self.complete_until == Nanos(0) {
            self.latest
        } else {
            self.complete_until
        };
        self.end.map_or(so_far, |end| end.at.max(self.latest))
    }

    /// The time between the end of complete records and the latest record.
    pub(super) fn incomplete_tail(&self) -> Nanos {
        self.end_at().until(self.latest)
    }

    /// Whether there were coroutines without a station, which are not recorded.
    pub(super) fn has_refused(&self) -> bool {
        self.end.is_some_and(|end| end.refused > 0)
    }
}
