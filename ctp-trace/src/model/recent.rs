//! A map with fast access to the latest key, because consecutive records often concern the same thread
//! or process.

use std::hash::Hash;

use crate::hash::Map;

/// Values in a vector, with an index by key.
#[derive(Clone, Debug)]
pub(super) struct Recent<K, V> {
    all: Vec<(K, V)>,
    index: Map<K, usize>,
    /// Index of the value that was accessed last.
    latest: usize,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Recent {
            all: Vec::new(),
            index: Map::default(),
            latest: 0,
        }
    }
}

impl<K: Copy + Eq + Hash, V: Default> Recent<K, V> {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.all.iter().map(|(_, value)| value)
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.index.clear();
    }

    #[inline]
    pub(super) fn get(&self, key: K) -> Option<&V> {
        let at = self.find(key)?;
        self.all.get(at).map(|(_, value)| value)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.latest = self.find(key)?;
        self.all.get_mut(self.latest).map(|(_, value)| value)
    }

    /// The value of this key; a new key gets the default.
    #[inline]
    pub(super) fn of(&mut self, key: K) -> &mut V {
        self.latest = self.find(key).unwrap_or_else(|| self.add(key));
        &mut self.all[self.latest].1
    }

    #[inline]
    fn find(&self, key: K) -> Option<usize> {
        match self.all.get(self.latest) {
            Some((latest, _)) if *latest == key => Some(self.latest),
            _ => self.index.get(&key).copied(),
        }
    }

    fn add(&mut self, key: K) -> usize {
        let at = self.all.len();
        self.all.push((key, V::default()));
        self.index.insert(key, at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_key() {
        let mut recent: Recent<u64, u64> = Recent::default();
        for key in [7, 8, 7, 9, 8] {
            *recent.of(key) += key;
        }
        let sums = [9, 7, 8, 6].map(|key| recent.get(key).copied());
        assert_eq!(sums, [Some(9), Some(14), Some(16), None]);
        assert!(recent.get_mut(6).is_none());
        *recent.get_mut(9).expect("is there") += 1;
        assert_eq!((recent.get(9), recent.len()), (Some(&10), 3));
        recent.clear();
        assert_eq!((recent.get(9), recent.len()), (None, 0));
    }
}
