//! Finds coroutines that probably hold a lock for which stuck coroutines wait.
//!
//! A lock of a library does not name its holder. But only coroutines of some families have released it so
//! far. If all of these wait for a lock, except for a single coroutine that waits for something else as
//! part of its work, then that coroutine probably holds the lock.

use std::collections::BTreeSet;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use super::judging::Judged;
use crate::record::{CoroutineId, LeafKind, Nanos};
use crate::verdict::State;

/// The coroutines that may have released a lock: those like the coroutines that have ended waits at a site. If
/// all that have woken a waiter are known, and all that have woken these, only these of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Releasers {
    /// The number of the site.
    site: u32,
    known: Option<BTreeSet<CoroutineId>>,
}

/// With fewer coroutines, the only one that does not wait for a lock would be found by chance.
const MIN_KNOWN: usize = 3;
/// More coroutines that have woken each other are not collected.
const MAX_KNOWN: usize = 64;

impl TraceModel {
    /// The coroutines that probably hold the locks for which coroutines are stuck.
    pub(super) fn probable_holders(&self, judged: &Judged) -> BTreeSet<CoroutineId> {
        let stuck = judged
            .iter()
            .filter(|(_, judgement)| judgement.verdict.is_stuck())
            .filter_map(|(id, _)| self.get(*id));
        let releasers: BTreeSet<Releasers> =
            stuck.filter_map(|waiter| self.releasers(waiter)).collect();
        let holders = releasers.iter().filter_map(|of| self.probable_holder(of));
        holders.collect()
    }

    /// The coroutines that may have released the lock for which a coroutine waits. `None` if it does not wait
    /// for a lock of a library.
    fn releasers(&self, waiter: &Coroutine) -> Option<Releasers> {
        let wait = waiter.suspend()?;
        let site = self.places.find_number(wait.site, wait.wait)?;
        if self.leaf_kind(waiter) != LeafKind::Lock {
            return None;
        }
        let known = self.all_callers(waiter);
        Some(Releasers { site, known })
    }

    /// The coroutine, those that have woken it, and those that have woken these, if all are known.
    fn all_callers(&self, waiter: &Coroutine) -> Option<BTreeSet<CoroutineId>> {
        let mut known = BTreeSet::from([waiter.id]);
        let mut pending = vec![waiter.id];
        while let Some(id) = pending.pop() {
            if self.callers.has_more(id) || MAX_KNOWN < known.len() {
                return None;
            }
            pending.extend(self.callers.of(id).filter(|caller| known.insert(*caller)));
        }
        (MIN_KNOWN <= known.len()).then_some(known)
    }

    /// Of the coroutines that may have released a lock, the only one that does not wait for a lock. If the lock
    /// was handed on while that one waited, it does not hold the lock.
    fn probable_holder(&self, releasers: &Releasers) -> Option<CoroutineId> {
        let stats = self.places.get(releasers.site);
        let families = stats.all_waking_families()?;
        let all: Vec<&Coroutine> = match &releasers.known {
            Some(known) => known.iter().filter_map(|id| self.get(*id)).collect(),
            None => self.coroutines.all().iter().collect(),
        };
        let (waiters, mut others): (Vec<_>, Vec<_>) = all
            .into_iter()
            .filter(|other| {
                other.is_alive() && families.contains(&other.family.unwrap_or_default())
            })
            .partition(|other| self.leaf_kind(other) == LeafKind::Lock);
        let handed_on = match releasers.known {
            Some(_) => waiters.into_iter().filter_map(latest_hand_over).max(),
            None => Some(stats.latest_end),
        };
        let holder = others.pop().filter(|_| others.is_empty())?;
        let is_since = handed_on.unwrap_or_default() <= holder.suspend()?.at;
        (is_since && self.is_at_work(holder)).then_some(holder.id)
    }

    /// Whether a coroutine waits, and not for its next work, for a time or for other tasks.
    fn is_at_work(&self, coroutine: &Coroutine) -> bool {
        let kind = self.leaf_kind(coroutine);
        coroutine.state().0 == State::Suspended
            && coroutine.wakes_since_run() == Some(0)
            && (kind.is_part_of_work() || kind == LeafKind::Semaphore)
    }
}

/// When another coroutine last woke this one, as at the release of a lock.
fn latest_hand_over(coroutine: &Coroutine) -> Option<Nanos> {
    let call = coroutine.wakes.call?;
    (call.caller_family != FamilyId::default()).then_some(call.at)
}
