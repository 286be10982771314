//! How many of the coroutines have not ended: of each family, and of those that have waited at a site.

use super::coroutine::Coroutine;
use super::families::{Families, FamilyId};
use super::site::SiteStats;
use crate::hash::Map;

/// The coroutines that have not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Living {
    by_family: Map<FamilyId, u64>,
    /// How many coroutines have waited at each site, by the number of the site.
    visitors: Map<u32, u64>,
}

impl Living {
    pub(super) fn of(coroutines: &[Coroutine]) -> Self {
        let mut living = Living::default();
        for coroutine in coroutines.iter().filter(|coroutine| coroutine.is_alive()) {
            let family = coroutine.family.unwrap_or_default();
            *living.by_family.entry(family).or_default() += 1;
            for site in &coroutine.waits.visited.sites {
                *living.visitors.entry(*site).or_default() += 1;
            }
        }
        living
    }

    pub(super) fn families(&self) -> impl Iterator<Item = FamilyId> {
        self.by_family.keys().copied()
    }

    pub(super) fn has(&self, family: FamilyId) -> bool {
        self.by_family.contains_key(&family)
    }

    /// Whether no coroutine of the family has ended.
    pub(super) fn is_complete(&self, family: FamilyId, families: &Families) -> bool {
        let alive = self.by_family.get(&family).copied().unwrap_or_default();
        let known = families.get(family);
        known.is_some_and(|family| family.coroutines == alive)
    }

    /// Whether coroutines that had waited at this site have ended. Such coroutines took what is given
    /// here, whereas workers wait here for their next work and do not end.
    pub(super) fn have_visitors_ended(&self, number: u32, stats: &SiteStats) -> bool {
        let alive = self.visitors.get(&number).copied().unwrap_or_default();
        alive < stats.coroutines
    }
}
