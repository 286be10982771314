//! A set of coroutines, of which there may be millions.

use ctp_trace::hash::Map;
use ctp_trace::record::CoroutineId;

/// Ids by their upper bits, with a bit for each of 64 ids. The recorder assigns ids in order, so these bits are well
/// used, and consecutive ids are close to each other in memory.
#[derive(Default)]
pub struct CoroutineSet(Map<u32, u64>);

impl CoroutineSet {
    /// Adds a coroutine. Returns whether it is new.
    pub fn insert(&mut self, id: CoroutineId) -> bool {
        let (key, bit) = place(id);
        let bits = self.0.entry(key).or_default();
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    /// Whether the set has the coroutine.
    pub fn contains(&self, id: CoroutineId) -> bool {
        let (key, bit) = place(id);
        self.0.get(&key).is_some_and(|bits| bits & bit != 0)
    }
}

fn place(id: CoroutineId) -> (u32, u64) {
    (id.0 / u64::BITS, 1 << (id.0 % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_has_what_was_added() {
        let mut set = CoroutineSet::default();
        let ids = [0, 1, 63, 64, u32::MAX].map(CoroutineId);
        for id in ids {
            assert!(!set.contains(id));
            assert!(set.insert(id));
            assert!(set.contains(id) && !set.insert(id));
        }
        assert!(
            ![2, 65, u32::MAX - 1]
                .into_iter()
                .any(|id| set.contains(CoroutineId(id)))
        );
    }
}
