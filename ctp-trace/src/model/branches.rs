//! Waits with several branches, as in a `select!`: since when each branch has waited, and how long it
//! usually waits.
//!
//! The place of such a wait is the set of its branches. The probe records a set once for each branch
//! that was polled last; here they are the same place.

use std::collections::{BTreeMap, BTreeSet};

use super::coroutine::Waits;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{self, CoroutineId, Event, EventKind, LeafKind, Nanos, SiteId, WaitKind};
use crate::verdict::{BranchEvidence, Past};

/// The sites with branches, and the branches of the coroutines that wait there.
#[derive(Clone, Debug, Default)]
pub(super) struct Branches {
    sites: Map<SiteId, Vec<SiteId>>,
    /// The site that stands for each set.
    sets: BTreeMap<BTreeSet<SiteId>, SiteId>,
    /// The site that stands for each site.
    unified: Map<SiteId, SiteId>,
    waiting: Map<CoroutineId, Select>,
    /// The waits of each branch that are over.
    ended: Map<SiteId, EndedWaits>,
}

/// The waits of a branch that are over.
#[derive(Clone, Debug, Default)]
struct EndedWaits {
    lengths: Histogram,
    latest_end: Nanos,
}

/// The branches for which a coroutine waits.
#[derive(Clone, Debug, Default)]
struct Select {
    branches: Vec<Waiting>,
    /// The wakes that the coroutine knew.
    wake_seen: u16,
}

/// A branch for which a coroutine waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    site: SiteId,
    since: Nanos,
    /// The wait began when the future of the branch was dropped while it waited elsewhere.
    is_restarted: bool,
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
        let branches = before.polled(sites.into_iter().flatten(), event);
        for branch in &before.branches {
            let goes_on = branches.iter().any(|now| {
                now.site == branch.site && now.since == branch.since && now.since < event.at
            });
            if let Some(ran_at) = waits.ran_at.filter(|_| !goes_on) {
                let ended = self.ended.entry(branch.site).or_default();
                ended.lengths.add(branch.since.until(ran_at));
                ended.latest_end = ended.latest_end.max(ran_at);
            }
        }
        if !branches.is_empty() {
            let wake_seen = event.wake_seen;
            let select = Select {
                branches,
                wake_seen,
            };
            self.waiting.insert(event.coroutine, select);
        }
    }

    /// The branches of a waiting coroutine that have a past.
    pub(super) fn evidence(&self, coroutine: CoroutineId) -> impl Iterator<Item = BranchEvidence> {
        let select = self.waiting.get(&coroutine).into_iter();
        let branches = select.flat_map(|select| &select.branches);
        branches.filter_map(|branch| {
            Some(BranchEvidence {
                site: branch.site,
                leaf: LeafKind::Unknown,
                is_restarted: branch.is_restarted,
                since: branch.since,
                past: self.past(branch.site)?,
            })
        })
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
        let select = self.waiting.get(&coroutine).into_iter();
        let branches = select.flat_map(|select| &select.branches);
        branches.map(|branch| (branch.site, branch.since))
    }
}

impl Select {
    /// The branches after a poll that ended with this event, at these sites.
    fn polled<'a>(&self, sites: impl Iterator<Item = &'a SiteId>, event: &Event) -> Vec<Waiting> {
        let stays = |index: usize| index < 64 && event.arg >> index & 1 != 0;
        let mut now: Vec<Waiting> = sites
            .enumerate()
            .map(
                |(index, &site)| match self.branch(site).filter(|_| stays(index)) {
                    Some(same) => *same,
                    None => Waiting {
                        site,
                        since: event.at,
                        is_restarted: false,
                    },
                },
            )
            .collect();
        if self.has_dropped_a_branch(&now, event) {
            let new = now.iter_mut();
            let new = new.filter(|branch| self.branch(branch.site).is_none());
            new.for_each(|branch| branch.is_restarted = true);
        }
        now
    }

    fn branch(&self, site: SiteId) -> Option<&Waiting> {
        self.branches.iter().find(|branch| branch.site == site)
    }

    /// Whether a branch is gone although the poll was for another branch: the only wake was for that one.
    fn has_dropped_a_branch(&self, now: &[Waiting], event: &Event) -> bool {
        let is_any_missing = self
            .branches
            .iter()
            .any(|branch| now.iter().all(|now| now.site != branch.site));
        let has_any_ended = now
            .iter()
            .any(|now| now.since == event.at && self.branch(now.site).is_some());
        event.wake_seen.wrapping_sub(self.wake_seen) == 1 && is_any_missing && has_any_ended
    }
}
