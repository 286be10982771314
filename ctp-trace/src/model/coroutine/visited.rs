//! The sites where a coroutine has waited. Usually there are one or two, which are searched linearly. An
//! index is added when there are many, so that the cost per event stays constant.

use crate::hash::Map;

/// Up to this number, a linear search is as fast as the index.
const FEW: usize = 16;

/// Numbers of sites, without duplicates.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Visited {
    /// The sites in the order of their first visit.
    pub(in crate::model) sites: Vec<u32>,
    /// The same sites, if there are many.
    index: Option<Box<Index>>,
    /// How many of the sites [`take_new`](Visited::take_new) has returned.
    reported: usize,
}

#[derive(Clone, Debug, Default)]
struct Index(Map<u32, ()>);

impl Visited {
    /// Adds a site. Returns whether the site is new.
    #[inline]
    pub(super) fn insert(&mut self, site: u32) -> bool {
        let is_new = match &self.index {
            None => !self.sites.contains(&site),
            Some(index) => !index.0.contains_key(&site),
        };
        if is_new {
            self.add(site);
        }
        is_new
    }

    /// The sites added since the last call.
    pub(super) fn take_new(&mut self) -> &[u32] {
        let reported = std::mem::replace(&mut self.reported, self.sites.len());
        &self.sites[reported..]
    }

    fn add(&mut self, site: u32) {
        self.sites.push(site);
        if let Some(index) = &mut self.index {
            index.0.insert(site, ());
        } else if FEW < self.sites.len() {
            let all = self.sites.iter().map(|site| (*site, ()));
            self.index = Some(Box::new(Index(all.collect())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_unique_however_many_there_are() {
        let mut visited = Visited::default();
        for round in 0..3 {
            let new = (0..1000).filter(|site| visited.insert(site * 7));
            assert_eq!(new.count(), if round == 0 { 1000 } else { 0 });
        }
        assert!(
            visited
                .sites
                .iter()
                .copied()
                .eq((0..1000).map(|number| number * 7))
        );
    }

    #[test]
    fn new_sites_are_returned_once() {
        let mut visited = Visited::default();
        assert!(visited.insert(5) && visited.insert(3));
        assert_eq!(visited.take_new(), [5, 3]);
        assert!(visited.insert(9) && !visited.insert(3));
        assert_eq!(visited.take_new(), [9]);
        assert_eq!(visited.sites, [5, 3, 9]);
        assert!(visited.take_new().is_empty());
    }
}
