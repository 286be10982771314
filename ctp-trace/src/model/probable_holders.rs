//! Finds coroutines that probably hold a lock for which stuck coroutines wait.
//!
//! A lock of a library does not name its holder. But only coroutines of some families have released it so
//! far. If all of these wait for a lock, except for a single coroutine that waits for something else as
//! part of its work, then that coroutine probably holds the lock.

use std::collections::BTreeSet;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::judging::Judged;
use crate::record::{CoroutineId, LeafKind};
use crate::verdict::State;

/// The coroutines that may have released a lock: those like the coroutines that have ended waits at a site. If
/// all that have woken a waiter are known, only these of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Releasers {
    /// The number of the site.
    site: u32,
    known: Option<BTreeSet<CoroutineId>>,
}

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
        let known: BTreeSet<CoroutineId> = self.callers.of(waiter.id).collect();
        let are_known = !known.is_empty() && !self.callers.has_more(waiter.id);
        Some(Releasers {
            site,
            known: Some(known).filter(|_| are_known),
        })
    }

    /// Of the coroutines that may have released a lock, the only one that does not wait for a lock.
    fn probable_holder(&self, releasers: &Releasers) -> Option<CoroutineId> {
        let families = self.places.get(releasers.site).all_waking_families()?;
        let all: Vec<&Coroutine> = match &releasers.known {
            Some(known) => known.iter().filter_map(|id| self.get(*id)).collect(),
            None => self.coroutines.all().iter().collect(),
        };
        let mut others = all.into_iter().filter(|other| {
            other.is_alive()
                && families.contains(&other.family.unwrap_or_default())
                && self.leaf_kind(other) != LeafKind::Lock
        });
        let holder = others.next()?;
        let is_only = others.next().is_none();
        (is_only && self.is_at_work(holder)).then_some(holder.id)
    }

    /// Whether a coroutine waits, and not for its next work or for a time.
    fn is_at_work(&self, coroutine: &Coroutine) -> bool {
        let kind = self.leaf_kind(coroutine);
        let is_part = matches!(kind, LeafKind::Semaphore | LeafKind::Task);
        coroutine.state().0 == State::Suspended
            && coroutine.wakes_since_run() == Some(0)
            && (kind.is_part_of_work() || is_part)
    }
}
