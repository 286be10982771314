//! How far the records that were emitted reach in time.

use ctp_trace::record::Nanos;

/// The times of the latest records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// Of the latest event, and of what a thread did last.
    event: Nanos,
    /// Of the latest birth and wake, which may be read before events that are earlier.
    other: Nanos,
}

impl Latest {
    /// The latest event was then.
    pub fn at(event: Nanos) -> Self {
        Latest {
            event,
            ..Latest::default()
        }
    }

    /// There was an event, or a thread did something, at this time.
    #[inline]
    pub fn note_event(&mut self, at: Nanos) {
        self.event = self.event.max(at);
    }

    /// There was a birth or a wake at this time.
    pub fn note(&mut self, at: Nanos) {
        self.other = self.other.max(at);
    }

    /// The time of the latest event, and of what threads did.
    pub fn event(self) -> Nanos {
        self.event
    }

    /// The time of the latest record.
    pub fn any(self) -> Nanos {
        self.event.max(self.other)
    }
}
