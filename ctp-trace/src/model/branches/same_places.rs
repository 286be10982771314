//! Which branches of waits are at the same place of the source. The compiler may have duplicated the code
//! of a `select!`, so a branch may have several await chains, each at a site of its own.

use std::collections::BTreeSet;

use crate::hash::Map;
use crate::record::SiteId;

/// The sites at the same places.
#[derive(Clone, Debug, Default)]
pub(super) struct SamePlaces {
    /// The site that stands for the place of each site that was examined.
    firsts: Map<SiteId, SiteId>,
    /// Sites that would stand for several branches of the same wait. Instead, each of these branches stands for
    /// itself.
    shared: BTreeSet<SiteId>,
}

impl SamePlaces {
    /// Notes the site that stands for the place of a site, which may be the site itself.
    pub fn add(&mut self, site: SiteId, first: SiteId) {
        self.firsts.insert(site, first);
    }

    /// Whether the place of a site is known, or cannot be known.
    pub fn is_examined(&self, site: SiteId) -> bool {
        self.firsts.contains_key(&site)
    }

    /// The site that stands for the place of a site.
    #[inline]
    pub fn of(&self, site: SiteId) -> SiteId {
        if self.firsts.is_empty() {
            return site;
        }
        let first = self.firsts.get(&site);
        *first
            .filter(|first| !self.shared.contains(first))
            .unwrap_or(&site)
    }

    /// Notes that a coroutine waits for all of these sites at the same time. So they are distinct, even
    /// if two are at the same line. Returns whether this was not known before.
    pub fn separate(&mut self, sites: &[SiteId]) -> bool {
        if self.firsts.is_empty() {
            return false;
        }
        let mut places = sites.iter().map(|site| self.of(*site));
        let mut twice = BTreeSet::new();
        while let Some(place) = places.next() {
            if places.clone().any(|other| other == place) {
                twice.insert(place);
            }
        }
        self.shared.extend(&twice);
        !twice.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_of_a_wait_are_distinct() {
        let [left, other, third, alone] = [1, 2, 3, 4].map(SiteId);
        let mut places = SamePlaces::default();
        places.add(other, left);
        places.add(third, left);
        assert!(places.is_examined(other) && !places.is_examined(alone));
        assert_eq!(
            [left, third, alone].map(|site| places.of(site)),
            [left, left, alone]
        );
        assert!(!places.separate(&[left, alone]));
        assert!(places.separate(&[other, alone, third]));
        assert_eq!([other, third].map(|site| places.of(site)), [other, third]);
    }
}
