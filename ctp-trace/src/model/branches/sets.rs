//! The sites with branches. Sites whose branches are at the same places are the same place.

use std::collections::{BTreeMap, BTreeSet};

use super::same_places::SamePlaces;
use crate::hash::Map;
use crate::record::{Branches, SiteId};

/// The sets of branches, and the places of the branches.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    sites: BTreeMap<SiteId, Vec<SiteId>>,
    /// The branches of all sets.
    members: BTreeSet<SiteId>,
    places: SamePlaces,
    /// The site that stands for each set of places.
    firsts: BTreeMap<BTreeSet<SiteId>, SiteId>,
    /// The site that stands for each site.
    unified: Map<SiteId, SiteId>,
    /// The sites with a branch whose place has not been examined.
    open: BTreeSet<SiteId>,
    /// The places have changed since the sets were compared.
    are_outdated: bool,
}

impl Sets {
    pub fn define(&mut self, branches: &Branches) {
        self.compare(branches.site, &branches.sites);
        self.members.extend(&branches.sites);
        self.sites.insert(branches.site, branches.sites.clone());
    }

    fn compare(&mut self, site: SiteId, branches: &[SiteId]) {
        let set = branches.iter().map(|branch| self.places.of(*branch));
        let first = *self.firsts.entry(set.collect()).or_insert(site);
        self.unified.insert(site, first);
        if !branches
            .iter()
            .all(|branch| self.places.is_examined(*branch))
        {
            self.open.insert(site);
        }
    }

    /// Notes that a branch is at the same place as an earlier branch, or as no other.
    pub fn note_place(&mut self, branch: SiteId, first: SiteId) {
        self.places.add(branch, first);
        self.are_outdated = true;
    }

    /// Takes into account that a coroutine waits for all branches of this site at the same time.
    pub fn separate(&mut self, site: SiteId) {
        let sites = self.sites.get(&site).map(Vec::as_slice);
        self.are_outdated |= self.places.separate(sites.unwrap_or_default());
    }

    /// Compares the sets again if the places have changed. Returns whether they have.
    #[inline]
    pub fn update(&mut self) -> bool {
        let are_outdated = self.are_outdated;
        if are_outdated {
            self.compare_all();
        }
        are_outdated
    }

    #[cold]
    fn compare_all(&mut self) {
        self.are_outdated = false;
        self.firsts.clear();
        self.open.clear();
        for (site, branches) in std::mem::take(&mut self.sites) {
            self.compare(site, &branches);
            self.sites.insert(site, branches);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// The branches at a site. The site of a single branch has that branch: if the other branches are
    /// woken while the coroutine is polled, the probe finds only one that waits.
    pub fn branches(&self, site: SiteId) -> &[SiteId] {
        let set = self.sites.get(&site).map(Vec::as_slice);
        let single = || self.members.get(&site).map(std::slice::from_ref);
        set.or_else(single).unwrap_or_default()
    }

    /// The site that stands for a site with branches.
    pub fn unified(&self, site: SiteId) -> Option<SiteId> {
        self.unified.get(&site).copied()
    }

    /// The site that stands for the place of a branch.
    pub fn place(&self, branch: SiteId) -> SiteId {
        self.places.of(branch)
    }

    /// Whether the places of all branches at the site have been examined. True for a site without branches.
    pub fn is_settled(&self, site: SiteId) -> bool {
        let branches = self.branches(site).iter();
        branches
            .copied()
            .all(|branch| self.places.is_examined(branch))
    }

    /// Whether some branch at the site has not been examined, by the latest comparison.
    #[inline]
    pub fn is_open(&self, site: SiteId) -> bool {
        !self.open.is_empty() && self.open.contains(&site)
    }
}
