//! The rule for coroutines that nothing can wake: their wakers are gone, or they never gave one out.

use super::{Case, Reason, SURE_AFTER, Verdict, stuck_if};
use crate::record::{LeafKind, PollWakers};

impl Case<'_> {
    /// Whether the latest poll registered no waker, as that of `std::future::pending()`. A program may
    /// intend that, so this is no sign of a fault. If a waker of an earlier poll was left at first, that
    /// waker may belong to a wait that is over: a task that was joined drops the waker shortly after its
    /// end.
    pub(super) fn is_unregistered(&self) -> bool {
        let polls = &self.evidence.polls;
        let is_unknown = self.evidence.wait.leaf == LeafKind::Unknown;
        match polls.left {
            PollWakers::Unregistered => polls.wakers.is_none_or(|wakers| wakers == 0),
            PollWakers::Earlier => is_unknown && polls.wakers == Some(0),
            PollWakers::Taken => false,
        }
    }

    /// A waker existed when the coroutine suspended, and no waker is left that could wake the coroutine.
    /// A waker of an earlier poll may belong to a wait that is over.
    pub(super) fn without_wakers(&self) -> (Verdict, Reason) {
        let polls = &self.evidence.polls;
        let is_close = self.evidence.wake.is_some_and(|wake| wake.close_call);
        let is_of_this_wait = polls.left == PollWakers::Taken;
        let is_open = is_close || polls.unrecorded || !polls.when_woken || !is_of_this_wait;
        let is_sure = SURE_AFTER <= self.age && !is_open;
        (stuck_if(is_sure), Reason::NoWaker)
    }
}
