//! Waits with several branches, as in a `select!`: since when each branch has waited, and how long it
//! usually waits.
//!
//! The place of such a wait is the set of its branches. The probe records a set once for each branch
//! that was polled last; here they are the same place.

use std::collections::{BTreeMap, BTreeSet};

use super::coroutine::Waits;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{self, CoroutineId, Event, EventKind, Nanos, SiteId, WaitKind};
use crate::verdict::{BranchEvidence, Past};

/// The sites with branches, and the branches of the coroutines that wait there.
#[derive(Clone, Debug, Default)]
pub(super) struct Branches {
    sites: Map<SiteId, Vec<SiteId>>,
    /// The site that stands for each set.
    sets: BTreeMap<BTreeSet<SiteId>, SiteId>,
    /// The site that stands for each site.
    unified: Map<SiteId, SiteId>,
    waiting: Map<CoroutineId, Vec<Waiting>>,
    /// The waits of each branch that are over.
    ended: Map<SiteId, EndedWaits>,
}

/// The waits of a branch that are over.
#[derive(Clone, Debug, Default)]
struct EndedWaits {
    lengths: Histogram,
    latest_end: Nanos,
}

/// A branch for which a coroutine waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    site: SiteId,
    since: Nanos,
}

impl Branches {
    pub(super) fn define(&mut self, branches: &record::Branches) {
        let set: BTreeSet<SiteId> = branches.sites.iter().copied().collect();
        let first = *self.sets.entry(set).or_insert(branches.site);
        self.unified.insert(branches.site, first);
        self.sites.insert(branches.site, branches.sites.clone());
    }

    /// The event as the other parts of the model get it: at the site that stands for its set, and
    /// without the argument that concerns the branches.
    #[inline]
    pub(super) fn unify(&self, event: &Event) -> Event {
        if self.unified.is_empty() {
            return *event;
        }
        let is_open = event.kind == EventKind::Suspend && event.wait == WaitKind::Unknown;
        match self.unified.get(&event.site).filter(|_| is_open) {
            Some(&site) => Event {
                site,
                arg: 0,
                ..*event
            },
            None => *event,
        }
    }

    /// Takes an event of a coroutine with these waits so far. Missing events may have ended each
    /// branch. `missed`: events before this one are missing.
    #[inline]
    pub(super) fn event(&mut self, event: &Event, waits: &Waits, missed: bool) {
        if self.sites.is_empty() {
            return;
        }
        if missed {
            self.waiting.remove(&event.coroutine);
        }
        match event.kind {
            EventKind::Suspend => self.suspend(event, waits),
            EventKind::Death => {
                self.waiting.remove(&event.coroutine);
            }
            EventKind::Run | EventKind::Birth => {}
        }
    }

    fn suspend(&mut self, event: &Event, waits: &Waits) {
        let before = self.waiting.remove(&event.coroutine).unwrap_or_default();
        let is_open = event.wait == WaitKind::Unknown;
        let sites = self.sites.get(&event.site).filter(|_| is_open);
        let stays = |index: usize| index < 64 && event.arg >> index & 1 != 0;
        let now = sites.into_iter().flatten().enumerate();
        let now: Vec<Waiting> = now
            .map(|(index, &site)| {
                let same = before.iter().find(|branch| branch.site == site);
                let since = same.filter(|_| stays(index)).map(|branch| branch.since);
                let since = since.unwrap_or(event.at);
                Waiting { site, since }
            })
            .collect();
        for branch in &before {
            let goes_on = now.iter().any(|now| {
                now.site == branch.site && now.since == branch.since && now.since < event.at
            });
            if let Some(ran_at) = waits.ran_at.filter(|_| !goes_on) {
                let ended = self.ended.entry(branch.site).or_default();
                ended.lengths.add(branch.since.until(ran_at));
                ended.latest_end = ended.latest_end.max(ran_at);
            }
        }
        if !now.is_empty() {
            self.waiting.insert(event.coroutine, now);
        }
    }

    /// The branch of a waiting coroutine that has waited the most times as long as usual.
    pub(super) fn evidence(&self, coroutine: CoroutineId, end: Nanos) -> Option<BranchEvidence> {
        let branches = self.waiting.get(&coroutine)?;
        let known = branches.iter().filter_map(|branch| {
            let past = self.past(branch.site)?;
            Some(BranchEvidence {
                site: branch.site,
                since: branch.since,
                past,
            })
        });
        known.max_by_key(|branch| branch.since.until(end).0 / branch.past.p99.0.max(1))
    }

    /// The waits of a branch that are over.
    pub(super) fn past(&self, site: SiteId) -> Option<Past> {
        let EndedWaits {
            lengths,
            latest_end,
        } = self.ended.get(&site)?;
        Some(Past {
            waits: lengths.count(),
            p99: lengths.bound(99).unwrap_or_default(),
            longest: lengths.max().unwrap_or_default(),
            active: *latest_end,
            ..Past::default()
        })
    }

    /// Since when a coroutine has waited for each branch.
    pub(super) fn waiting(&self, coroutine: CoroutineId) -> impl Iterator<Item = (SiteId, Nanos)> {
        let branches = self.waiting.get(&coroutine).into_iter().flatten();
        branches.map(|branch| (branch.site, branch.since))
    }
}
