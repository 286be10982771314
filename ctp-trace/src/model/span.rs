//! Stretches of time, each of one coroutine doing one thing.

use crate::record::{CoroutineId, Nanos, SiteId, WaitKind};

/// A stretch of time that an event brought to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The coroutine whose time it is.
    pub coroutine: CoroutineId,
    /// What it did.
    pub activity: Activity,
    /// From when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
}

/// What a coroutine did during a [`Span`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// It waited at this site for this sort of thing.
    Waiting(SiteId, WaitKind),
    /// It ran, having waited there before; `None` if no wait before is known.
    Running(Option<(SiteId, WaitKind)>),
}

impl Span {
    /// How long.
    pub fn length(&self) -> Nanos {
        self.from.until(self.to)
    }
}

impl Nanos {
    /// Time from this moment to another one; zero if that is not later.
    pub fn until(self, later: Nanos) -> Nanos {
        Nanos(later.0.saturating_sub(self.0))
    }
}
