//! How long those lived that have ended, family by family.
//!
//! Where the first waits at a place are the ones that never end, the place has no past: a pool of
//! connections that loses one now and then makes nobody wait, until it makes everybody. What such a
//! family was like before tells: hundreds came and went in milliseconds, and none of those that came
//! last.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{Event, Nanos, SiteId, WaitKind};
use crate::verdict::LivesEvidence;

/// Those of each family that went to their end.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives(Map<FamilyId, Ended>);

#[derive(Clone, Debug, Default)]
struct Ended {
    lives: Histogram,
    /// When the youngest of them was born.
    youngest: Nanos,
}

/// Those of one family that wait at one place, for one sort of thing.
type Companions = (FamilyId, SiteId, WaitKind);

/// Of those that wait, how many were born after all that have ended.
pub(super) type Newest = Map<Companions, u64>;

impl Lives {
    /// One went to its end; who is dropped before that does not.
    pub(super) fn ended(&mut self, coroutine: &Coroutine, death: &Event) {
        let Some(family) = separate_family(coroutine).filter(|_| !coroutine.waits.cancelled) else {
            return;
        };
        let ended = self.0.entry(family).or_default();
        ended.lives.add(coroutine.born.until(death.at));
        ended.youngest = ended.youngest.max(coroutine.born);
    }
}

/// Its family, unless that is the one of all for whom there was no room.
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

    /// How those like it lived that have ended. Nothing if some may have ended that are not in the
    /// trace.
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
