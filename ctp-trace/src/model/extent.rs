//! When the recording began and ended, and when each of its processes did.

use crate::hash::Map;
use crate::record::{End, Nanos, ProcessEnd, ProcessId, Window};

/// The time that a trace is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Extent {
    pub(super) started_monotonic_ns: u64,
    /// Of all records.
    latest: Nanos,
    /// Of those before which all is told.
    complete_until: Nanos,
    /// The closing account.
    pub(super) end: Option<End>,
    /// Processes that ended before the recording did.
    pub(super) ends: Map<ProcessId, ProcessEnd>,
    /// Set in the trace of a flight recorder.
    pub(super) window: Option<Window>,
}

impl Extent {
    /// Something happened then.
    #[inline]
    pub(super) fn see(&mut self, at: Nanos) {
        self.latest = self.latest.max(at);
    }

    /// All that happened until then is told.
    #[inline]
    pub(super) fn note_complete_until(&mut self, at: Nanos) {
        self.see(at);
        self.complete_until = self.complete_until.max(at);
    }

    /// To when ages are measured.
    pub(super) fn end_at(&self) -> Nanos {
        let so_far = if self.complete_until == Nanos(0) {
            self.latest
        } else {
            self.complete_until
        };
        self.end.map_or(so_far, |end| end.at.max(self.latest))
    }

    /// How long before the latest record all is told.
    pub(super) fn incomplete_tail(&self) -> Nanos {
        self.end_at().until(self.latest)
    }

    /// Are there coroutines that found no room, so that nothing is told of them?
    pub(super) fn has_refused(&self) -> bool {
        self.end.is_some_and(|end| end.refused > 0)
    }
}
