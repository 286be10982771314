//! The rule for a process as a whole: nothing runs, and each of its threads waits for another thread.

use super::evidence::State;
use super::{Case, Reason, Verdict};
use crate::record::{Nanos, PollWakers};

/// The least time between the two observations of the threads.
const MIN_INTERVAL: Nanos = Nanos(1_000_000_000);

/// The greatest age of the latest observation. The recorder observes the threads every second or two.
const MAX_AGE: Nanos = Nanos(3_000_000_000);

impl Case<'_> {
    /// Returns [`Verdict::MaybeStuck`] if no coroutine of the process has run for the threshold, and two
    /// observations of its threads found that each waits for another. Otherwise returns `decided`.
    ///
    /// Replaces only a verdict that found nothing to compare the wait with, or that such waits are usual.
    pub(super) fn without_progress(&self, decided: (Verdict, Reason)) -> (Verdict, Reason) {
        let is_unproven = matches!(
            decided,
            (
                Verdict::Waiting,
                Reason::Usual(_) | Reason::Quiet(_) | Reason::OnlyCoarse(_) | Reason::NoPast
            )
        );
        let is_waiting = self.evidence.state == State::Suspended
            && !self.evidence.wait.idle
            && self.evidence.polls.left != PollWakers::Unregistered;
        let Some(parked) = self
            .evidence
            .threads
            .parked
            .filter(|_| is_unproven && is_waiting)
        else {
            return decided;
        };
        let end = self.evidence.end;
        let is_long = self.threshold <= parked.ran.until(end);
        let is_confirmed = MIN_INTERVAL <= parked.first.until(parked.latest);
        let is_recent = parked.latest.until(end) <= MAX_AGE;
        if is_long && is_confirmed && is_recent {
            (Verdict::MaybeStuck, Reason::NoProgress(parked))
        } else {
            decided
        }
    }
}
