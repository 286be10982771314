//! Coroutines that wait for the end of tasks, all of which are stuck.
//!
//! A join of a library does not name its task. But a coroutine that joins usually has spawned the task itself.
//! If it has spawned coroutines, and all of these that have not ended are stuck, then so is the join.

use std::collections::BTreeMap;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::judging::Judged;
use crate::record::{CoroutineId, LeafKind, Nanos};
use crate::verdict::{BlockCause, BlockEvidence, Caveat, State};

/// For each coroutine that has spawned others: those that have not ended.
type LivingChildren = BTreeMap<CoroutineId, Vec<CoroutineId>>;

impl TraceModel {
    /// The coroutines that join stuck tasks and are not stuck otherwise, each with the evidence.
    pub(super) fn joiners_of_stuck(&self, judged: &Judged) -> Vec<(CoroutineId, BlockEvidence)> {
        let joiners = self.joiners(judged);
        if joiners.is_empty() {
            return Vec::new();
        }
        let children = self.living_children();
        let joiners = joiners.into_iter();
        joiners
            .filter_map(|joiner| {
                let tasks = children.get(&joiner.id)?;
                Some((joiner.id, self.all_stuck(joiner, tasks, judged)?))
            })
            .collect()
    }

    /// The coroutines that wait for the end of a task only, were not woken, and are not stuck otherwise.
    fn joiners(&self, judged: &Judged) -> Vec<&Coroutine> {
        let healthy = judged
            .iter()
            .filter(|(_, judgement)| !judgement.verdict.is_stuck());
        let healthy = healthy.filter_map(|(id, _)| self.get(*id));
        healthy
            .filter(|coroutine| {
                self.leaf_kind(coroutine) == LeafKind::Task
                    && !self.is_ended_by_helpers(coroutine)
                    && !self.has_unknown_children(coroutine)
                    && coroutine.state().0 == State::Suspended
                    && coroutine.wakes_since_run() == Some(0)
                    && coroutine.caveat().is_none()
                    && self.is_only_wait(coroutine)
            })
            .collect()
    }

    /// Whether coroutines of the process may be children that are not known as such.
    fn has_unknown_children(&self, coroutine: &Coroutine) -> bool {
        let process = coroutine.process;
        let others = self.coroutines.all().iter();
        let mut others = others.filter(|other| other.is_alive() && other.process == process);
        self.extent.has_refused()
            || self.missing.is_any(process)
            || others.any(|other| other.lived_before)
    }

    fn living_children(&self) -> LivingChildren {
        let mut children = LivingChildren::new();
        let all = self.coroutines.all().iter();
        for coroutine in all.filter(|coroutine| coroutine.is_alive()) {
            if let Some(parent) = coroutine.parent {
                children.entry(parent.id).or_default().push(coroutine.id);
            }
        }
        children
    }

    /// The evidence about a coroutine that waits for the end of one of these tasks, if all of them are stuck.
    fn all_stuck(
        &self,
        joiner: &Coroutine,
        tasks: &[CoroutineId],
        judged: &Judged,
    ) -> Option<BlockEvidence> {
        let are_stuck = tasks.iter().all(|task| {
            let judgement = judged.get(task);
            judgement.is_some_and(|judgement| judgement.verdict.is_stuck())
        });
        let first = tasks.first().filter(|_| are_stuck)?;
        let waits = tasks.iter().filter_map(|task| self.get(*task)?.suspend());
        let since = waits.map(|wait| wait.at).fold(Nanos(0), Nanos::max);
        Some(BlockEvidence {
            block_cause: BlockCause::Behind(*first),
            since: since.max(joiner.suspend()?.at),
            caveat: Some(Caveat::BlockerUncertain),
        })
    }
}
