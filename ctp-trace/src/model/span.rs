//! Spans of time during which a coroutine was waiting or running.

use crate::record::{CoroutineId, Nanos, SiteId, WaitKind};

/// A span of time that an event ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The coroutine.
    pub coroutine: CoroutineId,
    /// What the coroutine was doing.
    pub activity: SpanActivity,
    /// The start of the span.
    pub from: Nanos,
    /// The end of the span.
    pub to: Nanos,
}

/// What a coroutine was doing during a [`Span`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanActivity {
    /// Waiting at this site for this kind of resource.
    Waiting(SiteId, WaitKind),
    /// Running, after a wait at this site; `None` if no wait before the run is known.
    Running(Option<(SiteId, WaitKind)>),
}

impl Span {
    /// The length of the span.
    pub fn length(&self) -> Nanos {
        self.from.until(self.to)
    }
}

impl Nanos {
    /// Time from this moment to a later moment; zero if `later` is not later.
    pub fn until(self, later: Nanos) -> Nanos {
        Nanos(later.0.saturating_sub(self.0))
    }
}
