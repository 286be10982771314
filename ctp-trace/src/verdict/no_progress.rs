//! The rule for a program as a whole: nothing runs, and nothing outside of it is awaited.

use super::evidence::State;
use super::{Case, Reason, Verdict};
use crate::record::{Nanos, PollWakers};

/// The two observations of the threads are at least this far apart.
const INTERVAL: Nanos = Nanos(1_000_000_000);

/// The latest observation is at most this old; the recorder looks again every second or two.
const HOLDS: Nanos = Nanos(3_000_000_000);

impl Case<'_> {
    /// No coroutine of the process has run for the threshold, and two observations of its threads found
    /// that each waits for another. Replaces a verdict that only found nothing to compare the wait with,
    /// or that such waits are usual.
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
        let is_confirmed = INTERVAL <= parked.first.until(parked.latest);
        let is_recent = parked.latest.until(end) <= HOLDS;
        if is_long && is_confirmed && is_recent {
            (Verdict::MaybeStuck, Reason::NoProgress(parked))
        } else {
            decided
        }
    }
}
