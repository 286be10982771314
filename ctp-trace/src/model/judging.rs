//! What the rule is told of each coroutine, and what it says.

use std::collections::BTreeMap;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::named::ByName;
use super::resources::closings::{self, Closing};
use super::runners::Runners;
use super::site::Pasts;
use crate::record::{CoroutineId, Event, Nanos};
use crate::verdict::{
    BlockEvidence, CloseEvidence, Evidence, Judgement, Overtaker, ResourceEvidence, State,
    ThreadEvidence, TurnEvidence, judge,
};

/// Of the runs on the thread that ran it last, and on the one where a coroutine woke it: either may
/// have it in a queue of its own.
fn overtaker_on_thread(one: &Coroutine, runners: &Runners) -> Option<Overtaker> {
    let overtaker = runners.thread(one.last?.tid)?.overtaker?;
    let Some(woken) = one.wakes.call.filter(|call| call.may_be_from_coroutine) else {
        return Some(overtaker);
    };
    let there = runners.thread(woken.tid)?.overtaker?;
    [overtaker, there]
        .into_iter()
        .min_by_key(|overtaker| overtaker.ready)
}

impl TraceModel {
    /// What the rule says of each coroutine that is not over, by id.
    pub fn judge(&self, threshold: Nanos) -> Vec<(CoroutineId, Judgement)> {
        let pasts = self.places.pasts();
        let named = self.named_if_needed();
        let (closings, blocks, newest) = (self.closings(), self.blocks(), self.newest());
        let alive = || self.coroutines().into_iter().filter(|one| one.is_alive());
        let judged = |one: &Coroutine, blocked: Option<BlockEvidence>| {
            let mut evidence = self.evidence(one, &pasts, &named);
            evidence.resource = self.resource_evidence(one, closings.get(&one.id));
            evidence.resource.blocked = blocked;
            evidence.lives = self.lives_evidence(one, &newest);
            (one.id, judge(&evidence, threshold))
        };
        let by_itself = |one| judged(one, self.block_evidence(one, &blocks));
        let mut all: BTreeMap<_, _> = alive().map(by_itself).collect();
        let behind = |one: &Coroutine| {
            let blocked = self.behind(one, &blocks, &all)?;
            Some(judged(one, Some(blocked)))
        };
        let behind: Vec<_> = alive().filter_map(behind).collect();
        all.extend(behind);
        all.into_iter().collect()
    }

    /// What is usual for those of each name, if that is asked of any coroutine: it takes a kilobyte a name.
    fn named_if_needed(&self) -> ByName {
        let mut all = self.coroutines.all().iter();
        match all.any(|one| one.account.has_earlier_totals()) {
            true => self.all_named(),
            false => ByName::default(),
        }
    }

    fn evidence(&self, one: &Coroutine, pasts: &Pasts, named: &ByName) -> Evidence {
        let mut past = one
            .suspend()
            .and_then(|wait| pasts.get(&(wait.site, wait.wait)).copied())
            .unwrap_or_default();
        if one.account.has_earlier_totals() {
            past = one.past(past, named.get(one.group_key()));
        }
        let mut evidence = one.evidence(past, self.extent.started_monotonic_ns);
        evidence.end = self.end_of(one.process);
        evidence.polls.unrecorded = self.polls_unrecorded(one);
        if let Some(runners) = self.runners.get(one.process) {
            evidence.threads = self.thread_evidence(&evidence, one, runners);
        }
        evidence
    }

    fn thread_evidence(
        &self,
        evidence: &Evidence,
        one: &Coroutine,
        runners: &Runners,
    ) -> ThreadEvidence {
        let thread = one.last.and_then(|last| runners.thread(last.tid));
        let other = thread.filter(|thread| thread.coroutine != one.id);
        let is_running = evidence.state == State::Running;
        ThreadEvidence {
            overtaker: runners.overtaker,
            overtaker_on_thread: overtaker_on_thread(one, runners),
            hosts: other.is_some_and(|other| is_running && evidence.since <= other.at),
            ended: thread.is_some_and(|thread| thread.has_ended),
            held_since: other.and_then(|other| self.get(other.coroutine)?.runs_since()),
        }
    }

    /// What is known of what it waits for, but for what keeps it.
    fn resource_evidence(&self, one: &Coroutine, closing: Option<&Closing>) -> ResourceEvidence {
        ResourceEvidence {
            closed: closing.and_then(|closing| self.close_evidence(one, closing)),
            blocked: None,
            looked: self.look_evidence(one),
            empty: self.empty_evidence(one),
            turn: self.turn_evidence(one),
        }
    }

    fn close_evidence(&self, one: &Coroutine, closing: &Closing) -> Option<CloseEvidence> {
        let suspend = one.suspend()?;
        Some(CloseEvidence {
            at: closing.at.max(suspend.at),
            longest_after: self.resources.usual_use.longest(suspend.site, closing.site),
            whole: self.is_whole_since(one, suspend),
        })
    }

    /// How the lock that it waits for has gone on since it does.
    fn turn_evidence(&self, one: &Coroutine) -> Option<TurnEvidence> {
        let wait = one.suspend()?;
        let resource = closings::resource(one.process, wait.wait, wait.arg)?;
        self.holds
            .turn(&resource)
            .filter(|turn| wait.at <= turn.taken)
    }

    /// Is nothing missing of what its process told since it waits?
    pub(super) fn is_whole_since(&self, one: &Coroutine, suspend: &Event) -> bool {
        let is_missing = self.missing.is_any_since(one.process, suspend.at);
        one.account.is_closed() && !is_missing
    }

    /// May others have polled it, without this being in the trace?
    fn polls_unrecorded(&self, one: &Coroutine) -> bool {
        one.polls.surroundings_unrecorded
            || self.extent.has_refused()
            || one.account.misses_events()
            || self.missing.is_any(one.process)
    }
}
