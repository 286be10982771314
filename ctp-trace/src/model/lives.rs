//! How long coroutines lived that have ended, per family.
//!
//! If the first waits at a place never end, the place has no history. Example: a pool that leaks a
//! connection now and then delays no coroutine until the pool is empty, and then delays all of them. The
//! history of the family shows this: hundreds of coroutines came and went in milliseconds, but none of
//! the latest.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{Event, Nanos, SiteId, WaitKind};
use crate::verdict::LivesEvidence;

/// Per family, the coroutines that ran to completion.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives(Map<FamilyId, Ended>);

#[derive(Clone, Debug, Default)]
struct Ended {
    lives: Histogram,
    /// When the youngest of them was born.
    youngest: Nanos,
}

/// Coroutines of one family that wait at one place, for the same kind of resource.
type Companions = (FamilyId, SiteId, WaitKind);

/// For each such group, how many coroutines were born after all of the family that have ended.
pub(super) type Newest = Map<Companions, u64>;

impl Lives {
    /// Takes a death. Coroutines that were dropped during a wait do not count.
    pub(super) fn ended(&mut self, coroutine: &Coroutine, death: &Event) {
        let Some(family) = separate_family(coroutine).filter(|_| !coroutine.waits.cancelled) else {
            return;
        };
        let ended = self.0.entry(family).or_default();
        ended.lives.add(coroutine.born.until(death.at));
        ended.youngest = ended.youngest.max(coroutine.born);
    }
}

/// The family of the coroutine, unless it is the common family of all for which there was no room.
fn separate_family(coroutine: &Coroutine) -> Option<FamilyId> {
    coroutine
        .family
        .filter(|family| *family != FamilyId::default())
}

fn companions(coroutine: &Coroutine) -> Option<Companions> {
    let wait = coroutine
        .suspend()
        .filter(|_| coroutine.caveat().is_none())?;
    Some((separate_family(coroutine)?, wait.site, wait.wait))
}

impl TraceModel {
    pub(super) fn newest(&self) -> Newest {
        let mut newest = Newest::default();
        for coroutine in self.coroutines.all() {
            let Some(companions) = companions(coroutine) else {
                continue;
            };
            let ended = self.lives.0.get(&companions.0);
            if ended.is_some_and(|ended| ended.youngest < coroutine.born) {
                *newest.entry(companions).or_default() += 1;
            }
        }
        newest
    }

    /// How long similar coroutines lived that have ended. `None` if coroutines may have ended that are
    /// not in the trace.
    pub(super) fn lives_evidence(
        &self,
        coroutine: &Coroutine,
        newest: &Newest,
    ) -> Option<LivesEvidence> {
        let companions = companions(coroutine).filter(|_| !self.extent.has_refused())?;
        let Ended { lives, .. } = self.lives.0.get(&companions.0)?;
        Some(LivesEvidence {
            ended: lives.count(),
            p99: lives.bound(99).unwrap_or_default(),
            longest: lives.max().unwrap_or_default(),
            newest: newest.get(&companions).copied().unwrap_or_default(),
        })
    }
}
