//! The branches for which a coroutine waits, from poll to poll.

use super::sets::Sets;
use crate::record::{Event, Nanos, SiteId, WaitKind};

/// The end of a poll, as far as it concerns branches.
#[derive(Clone, Copy, Debug)]
pub(super) struct PollEnd {
    /// The site with the branches; 0 if the program announced the wait.
    pub site: SiteId,
    at: Nanos,
    /// When the poll began.
    ran_at: Option<Nanos>,
    /// The bits of the branches.
    arg: u64,
    /// The wake count that the coroutine knew.
    wake_seen: u16,
}

/// The first bit of the argument that describes a branch of the previous wait.
const DEPARTED: usize = 8;

impl PollEnd {
    pub fn new(suspend: &Event, ran_at: Option<Nanos>) -> Self {
        let is_open = suspend.wait == WaitKind::Unknown;
        PollEnd {
            site: if is_open { suspend.site } else { SiteId(0) },
            at: suspend.at,
            ran_at,
            arg: suspend.arg,
            wake_seen: suspend.wake_seen,
        }
    }

    /// Whether the branch with this index has waited since before the poll.
    fn has_stayed(&self, index: usize) -> bool {
        index < DEPARTED && self.arg >> index & 1 != 0
    }

    /// Whether the branch with this index in the previous wait was not woken, and now has another chain
    /// or is over.
    fn has_departed(&self, index: usize) -> bool {
        index < DEPARTED && self.arg >> (index + DEPARTED) & 1 != 0
    }

    /// Whether the coroutine certainly waits for all branches at the site. Other polls may leave wakers of
    /// branches that are over.
    pub fn is_precise(&self) -> bool {
        (0..DEPARTED).any(|index| self.has_stayed(index))
    }
}

/// The branches for which a coroutine waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Select {
    pub branches: Vec<Waiting>,
    /// The wake count that the coroutine knew.
    wake_seen: u16,
}

/// A branch for which a coroutine waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub site: SiteId,
    pub since: Nanos,
    /// The wait began when the branch's earlier future was dropped while that future waited elsewhere.
    pub is_restarted: bool,
}

/// A wait for a branch that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedWait {
    pub place: SiteId,
    pub length: Nanos,
    pub end: Nanos,
}

impl Select {
    /// The branches after a poll with this end.
    pub fn after(&self, end: &PollEnd, sets: &Sets) -> Select {
        let sites = sets.branches(end.site).iter().enumerate();
        let branches = sites.map(|(index, &site)| {
            let same = self.branch(sets.place(site), sets);
            let same =
                same.filter(|(before, _)| end.has_stayed(index) || end.has_departed(*before));
            same.map_or_else(
                || Waiting::since(site, end.at),
                |(_, same)| Waiting { site, ..*same },
            )
        });
        let mut now = Select {
            branches: branches.collect(),
            wake_seen: end.wake_seen,
        };
        if self.has_dropped_a_branch(&now, end, sets) {
            let new = now.branches.iter_mut();
            let new = new.filter(|new| self.branch(sets.place(new.site), sets).is_none());
            new.for_each(|branch| branch.is_restarted = true);
        }
        now
    }

    /// The waits that ended, if `now` has the branches after a poll with this end.
    pub fn ended<'a>(
        &'a self,
        now: &'a Select,
        end: &'a PollEnd,
        sets: &'a Sets,
    ) -> impl Iterator<Item = EndedWait> + 'a {
        let over = self.branches.iter().filter(|branch| {
            let same = now.branch(sets.place(branch.site), sets);
            same.is_none_or(|(_, now)| now.since != branch.since || now.since == end.at)
        });
        over.filter_map(|branch| {
            let ran_at = end.ran_at?;
            Some(EndedWait {
                place: sets.place(branch.site),
                length: branch.since.until(ran_at),
                end: ran_at,
            })
        })
    }

    /// The branch at this place, and its index.
    fn branch(&self, place: SiteId, sets: &Sets) -> Option<(usize, &Waiting)> {
        let mut branches = self.branches.iter().enumerate();
        branches.find(|(_, branch)| sets.place(branch.site) == place)
    }

    /// Whether a branch is gone although the poll was for another branch, which received the only wake. The
    /// other branch may have been woken during the previous poll, and is then not among the branches.
    fn has_dropped_a_branch(&self, now: &Select, end: &PollEnd, sets: &Sets) -> bool {
        let is_any_missing = self
            .branches
            .iter()
            .any(|branch| now.branch(sets.place(branch.site), sets).is_none());
        let has_any_ended = now
            .branches
            .iter()
            .any(|now| now.since == end.at && self.branch(sets.place(now.site), sets).is_some());
        let has_single_departed = self.branches.len() == 1 && end.has_departed(0);
        let is_for_another = has_any_ended || has_single_departed;
        end.wake_seen.wrapping_sub(self.wake_seen) == 1 && is_any_missing && is_for_another
    }
}

impl Waiting {
    fn since(site: SiteId, since: Nanos) -> Self {
        Waiting {
            site,
            since,
            is_restarted: false,
        }
    }
}
