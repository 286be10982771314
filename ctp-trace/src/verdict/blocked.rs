//! The rule for those that others keep: in a cycle, behind one that is stuck, or by a lock whose
//! holder is no more.

use super::standing::{BlockStanding, Obstacle, State};
use super::{Case, Doubt, Reason, SURE_AFTER, Verdict};
use crate::record::Nanos;

impl Case<'_> {
    /// It is kept for as long as is worth a word.
    pub(super) fn blocked(&self) -> Option<(Verdict, Reason)> {
        let BlockStanding {
            obstacle, doubt, ..
        } = self.standing.resource.blocked.filter(|it| {
            let is_in_a_cycle = it.obstacle == Obstacle::Cycle;
            let state = self.standing.state;
            state == State::Suspended || is_in_a_cycle && state == State::Running
        })?;
        let age = self.kept_for();
        if age < self.threshold {
            return None;
        }
        let doubt = doubt.or((age < SURE_AFTER).then_some(Doubt::Recent));
        let (verdict, reason) = match obstacle {
            Obstacle::Cycle => (Verdict::Deadlock, Reason::Deadlock { doubt }),
            Obstacle::Ended(holder) => (Verdict::Stuck, Reason::NeverGivenBack { holder, doubt }),
            Obstacle::Unclaimed => (Verdict::Stuck, Reason::Unclaimed { doubt }),
            Obstacle::Behind(root) => (Verdict::Stuck, Reason::Behind { root, doubt }),
        };
        Some((doubt.map_or(verdict, |_| Verdict::MaybeStuck), reason))
    }

    /// How long others have kept it. It may have run meanwhile, where nothing of that came.
    pub(super) fn kept_for(&self) -> Nanos {
        let blocked = self.standing.resource.blocked;
        blocked.map_or(Nanos(0), |it| it.since.until(self.standing.end))
    }
}
