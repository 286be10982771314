//! Collects the evidence about each coroutine and applies the rule.

use std::collections::{BTreeMap, BTreeSet};

use super::TraceModel;
use super::blocks::Blocks;
use super::closed_groups::ClosedGroups;
use super::coroutine::Coroutine;
use super::full_channels::Senders;
use super::levels::Levels;
use super::lives::WaitingCounts;
use super::parked::ParkedProcess;
use super::quiet::Quiet;
use super::resources::closings::{self, Closing};
use super::runners::Runners;
use crate::hash::Map;
use crate::record::{CoroutineId, Event, LeafKind, Nanos, ProcessId};
use crate::verdict::{
    BlockEvidence, BranchEvidence, CloseEvidence, Evidence, FullEvidence, Judgement, Overtaker,
    ResourceEvidence, State, ThreadEvidence, TurnEvidence, judge,
};

/// The overtaking run on the thread that last ran the coroutine. If another coroutine woke the coroutine,
/// there must be such a run on the thread of the wake too: either thread may have the coroutine in a queue of
/// its own. Of the two runs, returns that of the coroutine that became ready earlier.
fn overtaker_on_thread(coroutine: &Coroutine, runners: &Runners) -> Option<Overtaker> {
    let overtaker = runners.thread(coroutine.last?.tid)?.overtaker?;
    let Some(woken) = coroutine
        .wakes
        .call
        .filter(|call| call.may_be_from_coroutine)
    else {
        return Some(overtaker);
    };
    let there = runners.thread(woken.tid)?.overtaker?;
    [overtaker, there]
        .into_iter()
        .min_by_key(|overtaker| overtaker.ready)
}

/// Tasks may join tasks that join stuck tasks, and so on. Joins beyond this number are not followed.
const MAX_JOINS: usize = 16;

/// The judgements of coroutines that have not ended.
pub(super) type Judged = BTreeMap<CoroutineId, Judgement>;

/// Facts about the whole trace, from which the evidence about each coroutine is taken.
struct Context<'m> {
    model: &'m TraceModel,
    threshold: Nanos,
    levels: Levels,
    quiet: Quiet,
    closings: BTreeMap<CoroutineId, Closing>,
    waiting_counts: WaitingCounts,
    parked: Map<ProcessId, ParkedProcess>,
    blocks: Blocks,
    senders: Senders,
    closed_groups: ClosedGroups,
}

impl<'m> Context<'m> {
    fn new(model: &'m TraceModel, threshold: Nanos) -> Self {
        let levels = model.levels();
        Context {
            model,
            threshold,
            closed_groups: model.closed_groups(levels.living()),
            levels,
            quiet: model.quiet(),
            closings: model.closings(),
            waiting_counts: model.count_waiting(),
            parked: model.parked_processes(),
            blocks: model.blocks(),
            senders: model.senders(),
        }
    }

    fn judged(&self, coroutine: &Coroutine, others: FromOthers) -> Judgement {
        let model = self.model;
        let mut evidence = model.evidence(coroutine, &self.levels);
        evidence.threads.quiet_since = self.quiet.since(coroutine.process);
        evidence.resource = model.resource_evidence(coroutine, self.closings.get(&coroutine.id));
        (evidence.resource.blocked, evidence.resource.full) = (others.blocked, others.full);
        evidence.resource.keeps_lock = others.keeps_lock;
        let readers = self.senders.get(&coroutine.id);
        evidence.resource.no_reader = readers.is_some_and(Vec::is_empty);
        evidence.resource.own_future = model.may_wait_for_own_future(coroutine);
        evidence.resource.may_be_woken_again = model.may_be_woken_again(coroutine);
        evidence.resource.in_closed_group = self.closed_groups.contains(&coroutine.id);
        evidence.threads.parked = self
            .parked
            .get(&coroutine.process)
            .and_then(|parked| model.parked_evidence(coroutine, parked, &self.levels));
        evidence.lives = model.lives_evidence(coroutine, &self.waiting_counts, &self.levels);
        judge(&evidence, self.threshold)
    }

    /// Judges again the coroutines that stuck coroutines block.
    fn judge_behind(&self, judged: &mut Judged) {
        let behind = judged.keys().filter_map(|id| {
            let coroutine = self.model.get(*id)?;
            let others = FromOthers {
                blocked: Some(self.model.behind(coroutine, &self.blocks, judged)?),
                ..FromOthers::default()
            };
            Some((*id, self.judged(coroutine, others)))
        });
        let behind: Vec<_> = behind.collect();
        judged.extend(behind);
    }

    /// Judges again the coroutines that wait for the end of stuck tasks, and those that wait for these.
    fn judge_joiners(&self, judged: &mut Judged) {
        for _ in 0..MAX_JOINS {
            let joiners = self.model.joiners_of_stuck(judged);
            if joiners.is_empty() {
                return;
            }
            for (id, blocked) in joiners {
                if let Some(joiner) = self.model.get(id) {
                    let others = FromOthers {
                        blocked: Some(blocked),
                        ..FromOthers::default()
                    };
                    judged.insert(id, self.judged(joiner, others));
                }
            }
        }
    }

    /// Judges again the coroutines that wait for room in channels with stuck readers.
    fn judge_senders(&self, judged: &mut Judged) {
        let stuck = judged
            .iter()
            .filter(|(_, judgement)| judgement.verdict.is_stuck());
        let stuck: BTreeSet<CoroutineId> = stuck.map(|(id, _)| *id).collect();
        let mut full = self.model.full_channels(&self.senders, &stuck);
        full.retain(|id, _| !stuck.contains(id));
        for (id, full) in full {
            if let Some(coroutine) = self.model.get(id) {
                let others = FromOthers {
                    full: Some(full),
                    ..FromOthers::default()
                };
                judged.insert(id, self.judged(coroutine, others));
            }
        }
    }

    /// Judges again the coroutines that probably hold locks for which others are stuck.
    fn judge_probable_holders(&self, judged: &mut Judged) {
        let mut holders = self.model.probable_holders(judged);
        holders.retain(|id| {
            judged
                .get(id)
                .is_some_and(|judged| !judged.verdict.is_stuck())
        });
        let others = FromOthers {
            keeps_lock: true,
            ..FromOthers::default()
        };
        for holder in holders.into_iter().filter_map(|id| self.model.get(id)) {
            judged.insert(holder.id, self.judged(holder, others));
        }
    }
}

/// Facts that follow from the verdicts on other coroutines.
#[derive(Clone, Copy, Debug, Default)]
struct FromOthers {
    blocked: Option<BlockEvidence>,
    full: Option<FullEvidence>,
    keeps_lock: bool,
}

impl TraceModel {
    /// The judgements of all coroutines that have not ended, by id.
    pub fn judge(&self, threshold: Nanos) -> Vec<(CoroutineId, Judgement)> {
        let context = Context::new(self, threshold);
        let full = self.full_channels(&context.senders, &BTreeSet::new());
        let all = self.coroutines();
        let alive = all.iter().filter(|coroutine| coroutine.is_alive());
        let judged = alive.map(|coroutine| {
            let others = FromOthers {
                blocked: self.block_evidence(coroutine, &context.blocks),
                full: full.get(&coroutine.id).copied(),
                keeps_lock: false,
            };
            (coroutine.id, context.judged(coroutine, others))
        });
        let mut judged: Judged = judged.collect();
        context.judge_behind(&mut judged);
        context.judge_senders(&mut judged);
        context.judge_probable_holders(&mut judged);
        context.judge_joiners(&mut judged);
        judged.into_iter().collect()
    }

    fn evidence(&self, coroutine: &Coroutine, levels: &Levels) -> Evidence {
        let past = self.past(coroutine, levels);
        let mut evidence = coroutine.evidence(past, self.extent.started_monotonic_ns);
        evidence.end = self.end_of(coroutine.process);
        evidence.wait.leaf = self.leaf_kind(coroutine);
        let is_lock = evidence.wait.leaf == LeafKind::Lock;
        evidence.wait.is_held_while_idle =
            is_lock && self.is_held_while_idle(coroutine, levels.message_waits());
        evidence.wait.is_for_call =
            evidence.wait.leaf == LeafKind::Task && self.is_ended_by_helpers(coroutine);
        evidence.wait.for_lock =
            is_lock && !evidence.wait.is_held_while_idle || self.waits_for_lock(coroutine);
        if evidence.state == State::Suspended {
            evidence.branch = self.branch_evidence(coroutine.id, evidence.end);
        }
        evidence.polls.unrecorded = self.polls_unrecorded(coroutine);
        if let Some(runners) = self.runners.get(coroutine.process) {
            evidence.threads = self.thread_evidence(&evidence, coroutine, runners);
        }
        evidence
    }

    /// Of the branches of a waiting coroutine, the branch that has waited the largest multiple of its
    /// usual wait. Branches that are part of some work come first.
    fn branch_evidence(&self, id: CoroutineId, end: Nanos) -> Option<BranchEvidence> {
        let branches = self.branches.evidence(id).map(|branch| BranchEvidence {
            leaf: self.socket_waits.kind(branch.site),
            ..branch
        });
        branches.max_by_key(|branch| {
            let times = branch.since.until(end).0 / branch.past.p99.0.max(1);
            (branch.has_work(), times)
        })
    }

    fn thread_evidence(
        &self,
        evidence: &Evidence,
        coroutine: &Coroutine,
        runners: &Runners,
    ) -> ThreadEvidence {
        let thread = coroutine.last.and_then(|last| runners.thread(last.tid));
        let other = thread.filter(|thread| thread.coroutine != coroutine.id);
        let is_running = evidence.state == State::Running;
        ThreadEvidence {
            overtaker: runners.overtaker,
            overtaker_on_thread: overtaker_on_thread(coroutine, runners),
            hosts: other.is_some_and(|other| is_running && evidence.since <= other.at),
            ended: thread.is_some_and(|thread| thread.has_ended),
            quiet_since: None,
            held_since: other.and_then(|other| self.get(other.coroutine)?.runs_since()),
            parked: None,
        }
    }

    /// What is known of the awaited resource, except for blockers.
    fn resource_evidence(
        &self,
        coroutine: &Coroutine,
        closing: Option<&Closing>,
    ) -> ResourceEvidence {
        ResourceEvidence {
            closed: closing.and_then(|closing| self.close_evidence(coroutine, closing)),
            blocked: None,
            full: None,
            keeps_lock: false,
            no_reader: false,
            own_future: false,
            in_closed_group: false,
            may_be_woken_again: false,
            looked: self.look_evidence(coroutine),
            empty: self
                .empty_evidence(coroutine)
                .or_else(|| self.drained_evidence(coroutine)),
            turn: self.turn_evidence(coroutine),
        }
    }

    fn close_evidence(&self, coroutine: &Coroutine, closing: &Closing) -> Option<CloseEvidence> {
        let suspend = coroutine.suspend()?;
        Some(CloseEvidence {
            at: closing.at.max(suspend.at),
            longest_after: self.resources.usual_use.longest(suspend.site, closing.site),
            whole: self.is_whole_since(coroutine, suspend),
        })
    }

    /// How the awaited lock has changed hands since the wait began.
    fn turn_evidence(&self, coroutine: &Coroutine) -> Option<TurnEvidence> {
        let wait = coroutine.suspend()?;
        let resource = closings::resource(coroutine.process, wait.wait, wait.arg)?;
        self.holds
            .turn(&resource)
            .filter(|turn| wait.at <= turn.taken)
    }

    /// Whether the records of the coroutine's process are complete since the wait began.
    pub(super) fn is_whole_since(&self, coroutine: &Coroutine, suspend: &Event) -> bool {
        let is_missing = self.missing.is_any_since(coroutine.process, suspend.at);
        coroutine.account.is_closed() && !is_missing
    }

    /// Whether others may have polled the coroutine without a record of that in the trace.
    fn polls_unrecorded(&self, coroutine: &Coroutine) -> bool {
        coroutine.polls.surroundings_unrecorded
            || self.extent.has_refused()
            || coroutine.account.misses_events()
            || self.missing.is_any(coroutine.process)
    }
}
