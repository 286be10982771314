//! Events of coroutines, what coroutines wait for, and their wakes.

use crate::record::{CoroutineId, Nanos, SiteId};

/// The kind of an event. A coroutine is running from a run event to its next event, and at no other time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The coroutine exists and has not run yet.
    Birth,
    /// The coroutine runs from now on.
    #[default]
    Run,
    /// The coroutine waits from now on.
    Suspend,
    /// The coroutine ended, was cancelled or panicked.
    Death,
}

/// What a suspended coroutine waits for, as recorded; the event's `arg` identifies the resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WaitKind {
    /// Not recorded.
    #[default]
    Unknown,
    /// A file descriptor to become readable; `arg` is the descriptor.
    Readable,
    /// A file descriptor to become writable; `arg` is the descriptor.
    Writable,
    /// A timer; `arg` is the deadline on the clock of [`Start::started_monotonic_ns`], or 0.
    ///
    /// [`Start::started_monotonic_ns`]: crate::record::Start::started_monotonic_ns
    Timer,
    /// A lock; `arg` is its address.
    Lock,
    /// A channel; `arg` is its address.
    Channel,
    /// Another coroutine; `arg` is its probe id.
    Coroutine,
    /// Something that the program defines; the meaning of `arg` is the program's.
    User,
    /// Nothing: the coroutine yielded and is ready to run.
    Yield,
}

/// Further properties of a wait, as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitMarks {
    /// The wait is meant to be long.
    pub idle: bool,
    /// The coroutine waits for several things; only the last is recorded.
    pub has_others: bool,
    /// Which wakers were left by the poll that ended in this wait; only for waits of an unknown kind.
    pub wakers: PollWakers,
}

/// The wakers with which a poll left a coroutine, as far as they are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PollWakers {
    /// A waker that the poll took, or the wakers are not counted.
    #[default]
    Taken,
    /// The poll took no waker, but a waker of an earlier poll was left.
    Earlier,
    /// The poll took no waker, and none was left.
    Unregistered,
}

/// A change of a coroutine's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The coroutine of this event.
    pub coroutine: CoroutineId,
    /// Index among this coroutine's events, from 0. A gap means that the events in between are lost. A
    /// run of consecutive filtered events takes a single index.
    pub n: u64,
    /// Time of the event.
    pub at: Nanos,
    /// The thread of the event (the kernel's id on Linux).
    pub tid: u64,
    /// What happened.
    pub kind: EventKind,
    /// The site of the suspend.
    pub site: SiteId,
    /// What the coroutine waits for.
    pub wait: WaitKind,
    /// Identifies the awaited resource; for a death, see [`gives_out`](Event::gives_out).
    pub arg: u64,
    /// Further properties of the wait.
    pub marks: WaitMarks,
    /// Low 16 bits of the wake count that the coroutine knew when its last run began; for a run event,
    /// when that run itself began. Older recorders wrote 0 for every run.
    pub wake_seen: u16,
    /// A filter kept out events between the coroutine's previous event and this event.
    pub after_filtered: bool,
}

impl Event {
    /// Whether this is the death of a coroutine that returned a value which may contain a lock guard.
    pub fn gives_out(&self) -> bool {
        self.kind == EventKind::Death && self.arg != 0
    }

    /// Whether this is the next event after `previous`, so that none in between is lost or filtered.
    #[inline]
    pub fn follows(&self, previous: &Event) -> bool {
        previous.n.checked_add(1) == Some(self.n) && !self.after_filtered
    }

    /// The number of lost events between `previous` and this event, or from the event with index `first` if there is
    /// no previous event. `None` if this event is out of order.
    #[inline]
    pub fn gap_after(&self, previous: Option<&Event>, first: u64) -> Option<u64> {
        let expected = previous.map_or(first, |previous| previous.n.saturating_add(1));
        let expected = expected.saturating_add(self.after_filtered.into());
        self.n.checked_sub(expected)
    }
}

/// The caller of `wake()`, or the taker of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Waker {
    /// Not known.
    #[default]
    Foreign,
    /// A thread that was running no coroutine, by its id.
    Thread(u32),
    /// A coroutine of this trace.
    Coroutine(CoroutineId),
}

/// State of a coroutine's wake word. A first record with count 0 means that the runtime records wakes;
/// without any record, "never woken" cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// The coroutine that was woken.
    pub coroutine: CoroutineId,
    /// Wakes so far, modulo 2^20.
    pub count: u32,
    /// The latest caller of `wake()`.
    pub waker: Waker,
    /// When the coroutine was last woken.
    pub at: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(n: u64, after_filtered: bool) -> Event {
        Event {
            n,
            after_filtered,
            ..Event::default()
        }
    }

    #[test]
    fn filtered_events_take_an_index_and_are_no_gap() {
        let previous = event(4, false);
        for (next, follows, gap) in [
            (event(5, false), true, Some(0)),
            (event(6, false), false, Some(1)),
            (event(6, true), false, Some(0)),
            (event(8, true), false, Some(2)),
            (event(4, false), false, None),
        ] {
            assert_eq!(next.follows(&previous), follows, "{next:?}");
            assert_eq!(next.gap_after(Some(&previous), 0), gap, "{next:?}");
        }
        assert_eq!(event(9, false).gap_after(None, 7), Some(2));
    }
}
