//! Collects the evidence about each coroutine and applies the rule.

use std::collections::BTreeMap;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::levels::Levels;
use super::resources::closings::{self, Closing};
use super::runners::Runners;
use crate::record::{CoroutineId, Event, LeafKind, Nanos};
use crate::verdict::{
    BlockEvidence, CloseEvidence, Evidence, Judgement, Overtaker, ResourceEvidence, State,
    ThreadEvidence, TurnEvidence, judge,
};

/// The overtaking run on the thread that last ran the coroutine, or on the thread where another
/// coroutine woke it: either may have it in a queue of its own.
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

impl TraceModel {
    /// The judgements of all coroutines that have not ended, by id.
    pub fn judge(&self, threshold: Nanos) -> Vec<(CoroutineId, Judgement)> {
        let (levels, quiet) = (self.levels(), self.quiet());
        let (closings, blocks, newest) = (self.closings(), self.blocks(), self.newest());
        let parked = self.parked_processes();
        let full_channels = self.full_channels();
        let alive = || {
            self.coroutines()
                .into_iter()
                .filter(|coroutine| coroutine.is_alive())
        };
        let judged = |coroutine: &Coroutine, blocked: Option<BlockEvidence>| {
            let mut evidence = self.evidence(coroutine, &levels);
            evidence.threads.quiet_since = quiet.since(coroutine.process);
            evidence.resource = self.resource_evidence(coroutine, closings.get(&coroutine.id));
            evidence.resource.blocked = blocked;
            evidence.resource.full = full_channels.get(&coroutine.id).copied();
            evidence.threads.parked = parked.get(&coroutine.process).copied();
            evidence.lives = self.lives_evidence(coroutine, &newest, &levels);
            (coroutine.id, judge(&evidence, threshold))
        };
        let mut all: BTreeMap<_, _> = alive()
            .map(|coroutine| judged(coroutine, self.block_evidence(coroutine, &blocks)))
            .collect();
        let behind = |coroutine: &Coroutine| {
            let blocked = self.behind(coroutine, &blocks, &all)?;
            Some(judged(coroutine, Some(blocked)))
        };
        let behind: Vec<_> = alive().filter_map(behind).collect();
        all.extend(behind);
        all.into_iter().collect()
    }

    fn evidence(&self, coroutine: &Coroutine, levels: &Levels) -> Evidence {
        let past = self.past(coroutine, levels);
        let mut evidence = coroutine.evidence(past, self.extent.started_monotonic_ns);
        evidence.end = self.end_of(coroutine.process);
        evidence.wait.leaf = self.leaf_kind(coroutine);
        evidence.wait.for_lock =
            evidence.wait.leaf == LeafKind::Lock || self.waits_for_lock(coroutine);
        if evidence.state == State::Suspended {
            evidence.branch = self.branches.evidence(coroutine.id, evidence.end);
        }
        evidence.polls.unrecorded = self.polls_unrecorded(coroutine);
        if let Some(runners) = self.runners.get(coroutine.process) {
            evidence.threads = self.thread_evidence(&evidence, coroutine, runners);
        }
        evidence
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
