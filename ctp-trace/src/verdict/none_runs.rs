//! The rule for coroutines that were woken while no coroutine of their process runs any more.

use super::{Case, SURE_AFTER};
use crate::record::Nanos;

impl Case<'_> {
    /// Whether the wake came after the latest run, and no coroutine of the process runs any more. False
    /// for a coroutine that another coroutine polls: the other may have reasons of its own not to poll
    /// it.
    pub(super) fn is_left_by_all(&self, ready: Nanos) -> bool {
        let Some(quiet_since) = self.evidence.threads.quiet_since else {
            return false;
        };
        let long = quiet_since.max(ready).until(self.evidence.end);
        let may_be_spent = self.evidence.polls.keeps_permits
            || self.evidence.wake.is_none_or(|wake| wake.close_call);
        let is_spent = may_be_spent && self.was_woken_during_run();
        let is_nested = self.evidence.polls.by_others;
        // Others that ran much longer may have been ahead of the coroutine in the queue.
        let is_next = ready.until(quiet_since) < self.threshold;
        self.threshold.max(SURE_AFTER) <= long && is_next && !is_spent && !is_nested
    }
}
