//! What the rule is told of each coroutine, and what it says.

use std::collections::BTreeMap;

use super::Census;
use super::coroutine::Coroutine;
use super::named::ByName;
use super::resources::closings::{self, Closing};
use super::runners::Runners;
use super::site::Pasts;
use crate::record::{CoroutineId, Event, Nanos};
use crate::verdict::{
    BlockStanding, CloseStanding, Judgement, ResourceStanding, Served, Standing, State,
    ThreadStanding, TurnStanding, judge,
};

/// Of the runs on the thread that ran it last, and on the one where a coroutine woke it: either may
/// have it in a queue of its own.
fn served_there(one: &Coroutine, runners: &Runners) -> Option<Served> {
    let served = runners.thread(one.last?.tid)?.served?;
    let Some(woken) = one.wakes.call.filter(|call| call.may_be_from_coroutine) else {
        return Some(served);
    };
    let there = runners.thread(woken.tid)?.served?;
    [served, there]
        .into_iter()
        .min_by_key(|served| served.ready)
}

impl Census {
    /// What the rule says of each coroutine that is not over, by id.
    pub fn judge(&self, threshold: Nanos) -> Vec<(CoroutineId, Judgement)> {
        let pasts = self.places.pasts();
        let named = self.named_if_needed();
        let (closings, blocks, newest) = (self.closings(), self.blocks(), self.newest());
        let alive = || self.coroutines().into_iter().filter(|one| one.is_alive());
        let judged = |one: &Coroutine, blocked: Option<BlockStanding>| {
            let mut standing = self.standing(one, &pasts, &named);
            standing.resource = self.resource_standing(one, closings.get(&one.id));
            standing.resource.blocked = blocked;
            standing.lives = self.lives_standing(one, &newest);
            (one.id, judge(&standing, threshold))
        };
        let by_itself = |one| judged(one, self.block_standing(one, &blocks));
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

    fn standing(&self, one: &Coroutine, pasts: &Pasts, named: &ByName) -> Standing {
        let mut past = one
            .suspend()
            .and_then(|wait| pasts.get(&(wait.site, wait.wait)).copied())
            .unwrap_or_default();
        if one.account.has_earlier_totals() {
            past = one.past(past, named.get(one.kin()));
        }
        let mut standing = one.standing(past, self.extent.started_monotonic_ns);
        standing.end = self.end_of(one.process);
        standing.polls.untold = self.polls_untold(one);
        if let Some(runners) = self.runners.get(one.process) {
            standing.threads = self.thread_standing(&standing, one, runners);
        }
        standing
    }

    fn thread_standing(
        &self,
        standing: &Standing,
        one: &Coroutine,
        runners: &Runners,
    ) -> ThreadStanding {
        let thread = one.last.and_then(|last| runners.thread(last.tid));
        let other = thread.filter(|thread| thread.who != one.id);
        let is_running = standing.state == State::Running;
        ThreadStanding {
            served: runners.served,
            served_there: served_there(one, runners),
            hosts: other.is_some_and(|other| is_running && standing.since <= other.at),
            ended: thread.is_some_and(|thread| thread.has_ended),
            held_since: other.and_then(|other| self.get(other.who)?.runs_since()),
        }
    }

    /// What is known of what it waits for, but for what keeps it.
    fn resource_standing(&self, one: &Coroutine, closing: Option<&Closing>) -> ResourceStanding {
        ResourceStanding {
            closed: closing.and_then(|closing| self.close_standing(one, closing)),
            blocked: None,
            looked: self.look_standing(one),
            empty: self.empty_standing(one),
            turn: self.turn_standing(one),
        }
    }

    fn close_standing(&self, one: &Coroutine, closing: &Closing) -> Option<CloseStanding> {
        let suspend = one.suspend()?;
        Some(CloseStanding {
            at: closing.at.max(suspend.at),
            longest_after: self.resources.habits.longest(suspend.site, closing.site),
            whole: self.is_whole_since(one, suspend),
        })
    }

    /// How the lock that it waits for has gone on since it does.
    fn turn_standing(&self, one: &Coroutine) -> Option<TurnStanding> {
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
    fn polls_untold(&self, one: &Coroutine) -> bool {
        one.polls.surroundings_untold
            || self.extent.has_refused()
            || one.account.misses_events()
            || self.missing.is_any(one.process)
    }
}
