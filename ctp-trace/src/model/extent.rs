//! When the recording began and ended, and when each of its processes did.

use crate::hash::Map;
use crate::record::{End, Nanos, ProcessEnd, ProcessId, Start, Window};

/// The time that a trace is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Extent {
    started_monotonic_ns: u64,
    /// Of all records.
    latest: Nanos,
    /// Of those before which all is told.
    told: Nanos,
    end: Option<End>,
    /// Processes that ended before the recording did.
    ends: Map<ProcessId, ProcessEnd>,
    window: Option<Window>,
}

impl Extent {
    pub(super) fn note_start(&mut self, start: &Start) {
        self.started_monotonic_ns = start.started_monotonic_ns;
    }

    pub(super) fn note_window(&mut self, window: Window) {
        self.window = Some(window);
    }

    pub(super) fn note_end(&mut self, end: End) {
        self.end = Some(end);
    }

    pub(super) fn note_process_end(&mut self, end: ProcessEnd) {
        self.ends.insert(end.process, end);
    }

    /// Something happened then.
    #[inline]
    pub(super) fn see(&mut self, at: Nanos) {
        self.latest = self.latest.max(at);
    }

    /// All that happened until then is told.
    #[inline]
    pub(super) fn tell_until(&mut self, at: Nanos) {
        self.see(at);
        self.told = self.told.max(at);
    }

    pub(super) fn started_monotonic_ns(&self) -> u64 {
        self.started_monotonic_ns
    }

    pub(super) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    pub(super) fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// How this process ended, if that was before the recording did.
    pub(super) fn process_end(&self, process: ProcessId) -> Option<&ProcessEnd> {
        self.ends.get(&process)
    }

    /// To when ages are measured.
    pub(super) fn end_at(&self) -> Nanos {
        let so_far = if self.told == Nanos(0) {
            self.latest
        } else {
            self.told
        };
        self.end.map_or(so_far, |end| end.at.max(self.latest))
    }

    /// How long before the latest record all is told.
    pub(super) fn untold(&self) -> Nanos {
        self.end_at().until(self.latest)
    }

    /// Are there coroutines that found no room, so that nothing is told of them?
    pub(super) fn has_refused(&self) -> bool {
        self.end.is_some_and(|end| end.refused > 0)
    }
}
