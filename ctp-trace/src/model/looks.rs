//! What the recorder found when it examined awaited descriptors from outside, by wait.

use super::TraceModel;
use super::coroutine::Coroutine;
use crate::hash::Map;
use crate::record::{CoroutineId, Event, Look, Nanos, Seen, SiteId, WaitKind};
use crate::verdict::{EmptyEvidence, LookEvidence};

/// The looks during the current wait of a coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The start of the wait.
    pub since: Nanos,
    /// The latest look without a notable finding.
    pub open: Option<Look>,
    /// The first look with the finding that all later looks share.
    pub first: Option<Look>,
    /// The latest of these looks, if there are several.
    pub latest: Option<Look>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    waits: Map<CoroutineId, Looked>,
    /// Per site, the longest time that a wait continued after its descriptor was seen closed or
    /// unwatched.
    longest: Map<SiteId, Nanos>,
    /// Whether some looks were not permitted.
    pub(super) has_refusals: bool,
}

impl TraceModel {
    /// What the recorder found about the descriptor that the coroutine waits for, if that was notable or
    /// if there was nothing to read.
    pub fn looked(&self, coroutine: &Coroutine) -> Option<&Looked> {
        self.looks.of(coroutine.id, coroutine.suspend()?)
    }

    /// Whether the recorder lacked the permission to look in some process.
    pub fn were_looks_refused(&self) -> bool {
        self.looks.has_refusals
    }

    pub(super) fn look_evidence(&self, coroutine: &Coroutine) -> Option<LookEvidence> {
        let (suspend, looked) = (coroutine.suspend()?, self.looked(coroutine)?);
        let first = looked.first?;
        Some(LookEvidence {
            seen: first.seen,
            first: first.at,
            latest: looked.latest.map_or(first.at, |latest| latest.at),
            longest_after: self.looks.longest(suspend.site),
            whole: self.is_whole_since(coroutine, suspend),
        })
    }

    /// The latest look, if it found nothing to read where the coroutine waits to read.
    pub(super) fn empty_evidence(&self, coroutine: &Coroutine) -> Option<EmptyEvidence> {
        let suspend = coroutine.suspend()?;
        let look = self.looked(coroutine)?.empty()?;
        let is_match = suspend.wait == WaitKind::Readable && suspend.arg == look.fd;
        is_match.then_some(EmptyEvidence {
            fd: Some(look.fd),
            at: look.at,
        })
    }
}

impl Looked {
    /// The latest look, if it found nothing to read.
    pub fn empty(&self) -> Option<Look> {
        let open = self.open.filter(|_| self.first.is_none())?;
        (open.seen == Seen::Empty).then_some(open)
    }
}

impl Looks {
    pub(super) fn note(&mut self, look: &Look) {
        let looked = self.waits.entry(look.coroutine).or_default();
        if looked.since != look.since {
            *looked = Looked {
                since: look.since,
                ..Looked::default()
            };
        }
        match look.seen {
            Seen::Hidden => self.has_refusals = true,
            Seen::Open | Seen::Empty => {
                (looked.first, looked.latest) = (None, None);
                looked.open = Some(*look);
            }
            seen if looked.first.is_some_and(|first| first.seen.is_like(seen)) => {
                looked.latest = Some(*look);
            }
            _ => (looked.first, looked.latest) = (Some(*look), None),
        }
    }

    /// The looks during the coroutine's current wait, if they found anything.
    pub(super) fn of(&self, id: CoroutineId, suspend: &Event) -> Option<&Looked> {
        let looked = self.waits.get(&id)?;
        let says_more = looked.first.is_some() || looked.empty().is_some();
        let is_of_resource = looked.since == suspend.at && says_more;
        is_of_resource.then_some(looked)
    }

    /// Takes the end of a wait.
    pub(super) fn over(&mut self, id: CoroutineId, suspend: &Event, at: Nanos) {
        let looked = self.waits.get(&id);
        let Some(looked) = looked.filter(|looked| looked.since == suspend.at) else {
            return;
        };
        let first = looked.first;
        let settled = first.filter(|first| {
            matches!(
                first.seen,
                Seen::Closed | Seen::NumberClosed | Seen::Unwatched(_) | Seen::ClosedAtFirst
            )
        });
        if let Some(first) = settled {
            let longest = self.longest.entry(suspend.site).or_default();
            *longest = first.at.until(at).max(*longest);
        }
        self.waits.remove(&id);
    }

    pub(super) fn forget(&mut self, id: CoroutineId) {
        self.waits.remove(&id);
    }

    /// The longest time that a wait at this site continued after its descriptor was seen closed or
    /// unwatched. Zero if no such wait is known to have ended.
    pub(super) fn longest(&self, site: SiteId) -> Nanos {
        self.longest.get(&site).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(since: u64, at: u64, seen: Seen) -> Look {
        Look {
            coroutine: CoroutineId(1),
            since: Nanos(since),
            at: Nanos(at),
            seen,
            ..Look::default()
        }
    }

    /// The times of the first and of the latest look with the same finding.
    fn found(looks: &[Look], suspended_at: u64) -> Option<(u64, Option<u64>)> {
        let mut all = Looks::default();
        looks.iter().for_each(|look| all.note(look));
        let suspend = Event {
            at: Nanos(suspended_at),
            ..Event::default()
        };
        let looked = all.of(CoroutineId(1), &suspend)?;
        Some((looked.first?.at.0, looked.latest.map(|latest| latest.at.0)))
    }

    // CT-15
    #[test]
    fn finding_must_be_shared_by_all_looks_of_a_wait() {
        let open = look(10, 20, Seen::Open);
        let closed = [30, 40, 50].map(|at| look(10, at, Seen::Closed));
        assert_eq!(found(&[open], 10), None);
        assert_eq!(found(&[open, closed[0]], 10), Some((30, None)));
        let all = [open, closed[0], closed[1], closed[2]];
        assert_eq!(found(&all, 10), Some((30, Some(50))));
        assert_eq!(found(&all, 11), None, "another wait");
        let replaced = look(10, 60, Seen::Replaced);
        assert_eq!(
            found(&[closed[0], closed[1], replaced], 10),
            Some((60, None))
        );
        assert_eq!(
            found(&[closed[0], closed[1], look(10, 60, Seen::Open)], 10),
            None
        );
        assert_eq!(
            found(&[closed[0], closed[1], look(10, 60, Seen::Empty)], 10),
            None
        );
        let bytes = [(30, 5), (40, 9)].map(|(at, n)| look(10, at, Seen::Readable(n)));
        assert_eq!(found(&bytes, 10), Some((30, Some(40))));
    }
}
