//! The rule for coroutines that others block: in a cycle, behind a stuck coroutine, or by a lock of a
//! coroutine that has ended.

use super::evidence::{BlockCause, BlockEvidence, State};
use super::{Case, Caveat, Reason, SURE_AFTER, Verdict};
use crate::record::Nanos;

impl Case<'_> {
    /// The verdict if the coroutine has been blocked for at least the threshold.
    pub(super) fn blocked(&self) -> Option<(Verdict, Reason)> {
        let BlockEvidence {
            block_cause,
            caveat,
            ..
        } = self.evidence.resource.blocked.filter(|blocked| {
            let is_in_a_cycle = blocked.block_cause == BlockCause::Cycle;
            let state = self.evidence.state;
            state == State::Suspended || is_in_a_cycle && state == State::Running
        })?;
        let age = self.blocked_for();
        if age < self.threshold {
            return None;
        }
        let caveat = caveat.or((age < SURE_AFTER).then_some(Caveat::Recent));
        let (verdict, reason) = match block_cause {
            BlockCause::Cycle => (Verdict::Deadlock, Reason::Deadlock { caveat }),
            BlockCause::Ended(holder) => (Verdict::Stuck, Reason::NeverReleased { holder, caveat }),
            BlockCause::Unclaimed => (Verdict::Stuck, Reason::Unclaimed { caveat }),
            BlockCause::Behind(root) => (Verdict::Stuck, Reason::Behind { root, caveat }),
        };
        Some((caveat.map_or(verdict, |_| Verdict::MaybeStuck), reason))
    }

    /// How long others have blocked the coroutine. The coroutine may have run in the meantime, if this
    /// did not unblock it.
    pub(super) fn blocked_for(&self) -> Nanos {
        let blocked = self.evidence.resource.blocked;
        blocked.map_or(Nanos(0), |block_evidence| {
            block_evidence.since.until(self.evidence.end)
        })
    }
}
