//! Where a coroutine has waited. That is mostly one place or two, which are looked through; where it
//! is many, each is looked up, so that an event takes no longer for them.

use crate::hash::Map;

/// So many are looked through as quickly as one is looked up.
const FEW: usize = 16;

/// Numbers of sites, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Visited {
    /// In the order in which they came.
    pub(super) sites: Vec<u32>,
    /// The same ones, if they are many.
    index: Option<Box<Index>>,
    /// How many of them [`take_new`](Visited::take_new) has told.
    reported: usize,
}

#[derive(Clone, Debug, Default)]
struct Index(Map<u32, ()>);

impl Visited {
    /// One more, if it is none of them yet: whether it was.
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

    /// Those that came since this was last asked.
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
    fn each_is_there_once_however_many_there_are() {
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
    fn those_that_are_new_are_told_once() {
        let mut visited = Visited::default();
        assert!(visited.insert(5) && visited.insert(3));
        assert_eq!(visited.take_new(), [5, 3]);
        assert!(visited.insert(9) && !visited.insert(3));
        assert_eq!(visited.take_new(), [9]);
        assert_eq!(visited.sites, [5, 3, 9]);
        assert!(visited.take_new().is_empty());
    }
}
