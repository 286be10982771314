//! The times of the latest records.

use ctp_trace::record::Nanos;

/// The times of the latest records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LatestTimes {
    /// Time of the latest event of a coroutine or a thread.
    event: Nanos,
    /// Time of the latest birth or wake, which may be read before earlier events.
    other: Nanos,
}

impl LatestTimes {
    /// Starts with the latest event at this time.
    pub fn at(event: Nanos) -> Self {
        LatestTimes {
            event,
            ..LatestTimes::default()
        }
    }

    /// Notes the time of an event of a coroutine or a thread.
    #[inline]
    pub fn note_event(&mut self, at: Nanos) {
        self.event = self.event.max(at);
    }

    /// Notes the time of a birth or a wake.
    pub fn note(&mut self, at: Nanos) {
        self.other = self.other.max(at);
    }

    /// The time of the latest event of a coroutine or a thread.
    pub fn event(self) -> Nanos {
        self.event
    }

    /// The time of the latest record.
    pub fn any(self) -> Nanos {
        self.event.max(self.other)
    }
}
