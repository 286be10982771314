//! Waits with several branches, as in a `select!`: since when each branch has waited, and how long it
//! usually waits.
//!
//! The place of such a wait is the set of its branches. The probe records a set several times: once for
//! each branch that was polled last, and for each copy of the code that the compiler made. Here, these
//! sets are the same place.

mod deferred;
mod same_places;
mod select;
mod sets;

use std::collections::BTreeSet;

use super::coroutine::Waits;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{self, CoroutineId, Event, EventKind, Leaf, LeafKind, Nanos, SiteId, WaitKind};
use crate::verdict::{BranchEvidence, Past};
use deferred::DeferredPolls;
use select::{EndedWait, PollEnd, Select, Waiting};
use sets::Sets;

/// The sites with branches, and the branches of the coroutines that wait there.
#[derive(Clone, Debug, Default)]
pub(super) struct Branches {
    sets: Sets,
    waiting: Map<CoroutineId, Select>,
    /// Later polls of coroutines, which are kept until their branches have been examined.
    deferred: DeferredPolls,
    /// The ended waits at the place of each branch.
    ended: Map<SiteId, EndedBranchWaits>,
}

/// The ended waits for a branch.
#[derive(Clone, Debug, Default)]
struct EndedBranchWaits {
    lengths: Histogram,
    latest_end: Nanos,
}

impl EndedBranchWaits {
    fn add(&mut self, wait: &EndedWait) {
        self.lengths.add(wait.length);
        self.latest_end = self.latest_end.max(wait.end);
    }

    fn past(&self) -> Past {
        Past {
            waits: self.lengths.count(),
            p99: self.lengths.bound(99).unwrap_or_default(),
            longest: self.lengths.max().unwrap_or_default(),
            active: self.latest_end,
            ..Past::default()
        }
    }
}

impl Branches {
    pub(super) fn define(&mut self, branches: &record::Branches) {
        self.sets.define(branches);
    }

    /// Takes what is known of the place of a branch. The wait for a copy of a branch seemed to end
    /// whenever another copy polled the coroutine, so the lengths of these waits are dropped.
    pub(super) fn note_leaf(&mut self, leaf: &Leaf) {
        if leaf.same_as == SiteId(0) {
            return;
        }
        if leaf.same_as != leaf.site {
            self.ended.remove(&leaf.site);
        }
        self.sets.note_place(leaf.site, leaf.same_as);
    }

    /// The event as the other parts of the model get it: at the site that stands for its set, and
    /// without the argument that concerns the branches.
    #[inline]
    pub(super) fn unify(&self, event: &Event) -> Event {
        if self.sets.is_empty() {
            return *event;
        }
        let is_open = event.kind == EventKind::Suspend && event.wait == WaitKind::Unknown;
        match self.sets.unified(event.site).filter(|_| is_open) {
            Some(site) => Event {
                site,
                arg: 0,
                ..*event
            },
            None => *event,
        }
    }

    /// Takes an event of a coroutine with these waits so far. `missed` says that events before this event
    /// are missing, which may have ended each branch.
    #[inline]
    pub(super) fn event(&mut self, event: &Event, waits: &Waits, missed: bool) {
        if self.sets.is_empty() {
            return;
        }
        self.update();
        if missed {
            self.forget(event.coroutine);
        }
        match event.kind {
            EventKind::Suspend => {
                self.suspend(event.coroutine, PollEnd::new(event, waits.ran_at));
            }
            EventKind::Death => self.forget(event.coroutine),
            EventKind::Run | EventKind::Birth => {}
        }
    }

    /// Takes the end of a poll, or keeps it until its branches have been examined.
    fn suspend(&mut self, coroutine: CoroutineId, end: PollEnd) {
        if !self.sets.is_open(end.site) && !self.deferred.has(coroutine) {
            self.poll(coroutine, &end);
        } else if self.deferred.add(coroutine, end) {
            self.take_deferred(coroutine);
        }
    }

    /// Takes into account which places are known now.
    #[inline]
    pub(super) fn update(&mut self) {
        if self.sets.update() {
            self.take_settled();
        }
    }

    /// Takes the kept polls of the coroutines for which all branches have been examined.
    #[cold]
    fn take_settled(&mut self) {
        let sets = &self.sets;
        let settled = self.deferred.all_of(|end| sets.is_settled(end.site));
        settled
            .into_iter()
            .for_each(|coroutine| self.take_deferred(coroutine));
    }

    /// Takes all kept polls, because no more places will be examined.
    pub(super) fn finish(&mut self) {
        self.sets.update();
        let all = self.deferred.all_of(|_| true);
        all.into_iter()
            .for_each(|coroutine| self.take_deferred(coroutine));
    }

    fn take_deferred(&mut self, coroutine: CoroutineId) {
        for end in self.deferred.take(coroutine) {
            self.poll(coroutine, &end);
        }
    }

    fn forget(&mut self, coroutine: CoroutineId) {
        self.take_deferred(coroutine);
        self.waiting.remove(&coroutine);
    }

    fn poll(&mut self, coroutine: CoroutineId, end: &PollEnd) {
        if end.is_precise() {
            self.sets.separate(end.site);
        }
        let before = self.waiting.remove(&coroutine).unwrap_or_default();
        let now = before.after(end, &self.sets);
        for wait in before.ended(&now, end, &self.sets) {
            self.ended.entry(wait.place).or_default().add(&wait);
        }
        if !now.branches.is_empty() {
            self.waiting.insert(coroutine, now);
        }
    }

    /// The branches of a waiting coroutine for which waits have ended before.
    pub(super) fn evidence(&self, coroutine: CoroutineId) -> impl Iterator<Item = BranchEvidence> {
        self.branches(coroutine).filter_map(|branch| {
            Some(BranchEvidence {
                site: branch.site,
                leaf: LeafKind::Unknown,
                is_restarted: branch.is_restarted,
                since: branch.since,
                past: self.past(branch.site)?,
            })
        })
    }

    /// The ended waits for a branch.
    pub(super) fn past(&self, site: SiteId) -> Option<Past> {
        self.ended.get(&site).map(EndedBranchWaits::past)
    }

    /// Since when a coroutine has waited for each branch.
    pub(super) fn waiting(&self, coroutine: CoroutineId) -> impl Iterator<Item = (SiteId, Nanos)> {
        self.branches(coroutine)
            .map(|branch| (branch.site, branch.since))
    }

    /// The branches of a waiting coroutine, at the sites that stand for their places. A wait for a single
    /// branch has none: that wait is judged as a whole.
    fn branches(&self, coroutine: CoroutineId) -> impl Iterator<Item = Waiting> {
        let before = self.waiting.get(&coroutine).cloned().unwrap_or_default();
        let deferred = self.deferred.of(coroutine).iter();
        let select = deferred.fold(before, |before, end| before.after(end, &self.sets));
        let mut places = BTreeSet::new();
        let has_several = 1 < select.branches.len();
        let branches = select.branches.into_iter().filter(move |_| has_several);
        let branches = branches.map(|branch| Waiting {
            site: self.sets.place(branch.site),
            ..branch
        });
        branches.filter(move |branch| places.insert(branch.site))
    }
}
