//! The branches for which a coroutine waits, as a poll leaves them: bits, from which a set is made only
//! if its id is not known yet.

use super::{Branches, get, set};
use crate::protocol::branches::{BranchSet, MAX_BRANCHES};

/// The branches for which a coroutine waits after a poll.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited<'b> {
    pub(super) all: &'b Branches,
    /// A bit for each branch for which the coroutine waits.
    pub(super) waiting: u32,
    /// The number of the branch that was polled last.
    pub(super) last: u32,
    /// A bit for each branch that has stayed.
    pub(super) stayed: u32,
    /// A bit for each branch of the previous wait that has departed, in the order of that set.
    pub(super) departed: u64,
}

impl Awaited<'_> {
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// The chain, if there is a single branch.
    pub fn single(&self) -> Option<u32> {
        self.last().filter(|_| self.waiting.is_power_of_two())
    }

    /// The chain of the branch that was polled last.
    pub fn last(&self) -> Option<u32> {
        let number = bits(first_of(self.waiting, self.last)).next();
        number.map(|number| self.all.chain(number))
    }

    /// The argument of the wait.
    pub fn argument(&self) -> u64 {
        let stayed = if self.stayed == 0 {
            0
        } else {
            self.set().marks()
        };
        stayed | self.departed << MAX_BRANCHES
    }

    /// The id of the set of branches. `store` returns the id, or 0 if there is none. A coroutine often waits
    /// for the same branches again, whose id is kept.
    pub fn id(&self, store: impl FnOnce(&BranchSet) -> u32) -> u32 {
        let key = self.key();
        if get(&self.all.stored) != key {
            let id = store(&self.set());
            set(&self.all.stored_id, id);
            set(&self.all.stored, if id == 0 { 0 } else { key });
        }
        get(&self.all.stored_id)
    }

    /// Identifies the set as long as no number of a branch is taken for another chain.
    pub(super) fn key(&self) -> u32 {
        self.waiting | self.last << MAX_BRANCHES
    }

    pub(super) fn set(&self) -> BranchSet {
        self.all.set_of(self.waiting, self.last, self.stayed)
    }
}

/// The bit of the branch that comes first in a set. If the branch that was polled last no longer waits,
/// another stands for it.
pub(super) fn first_of(branches: u32, last: u32) -> u32 {
    match branches & 1 << last {
        0 => highest_bit(branches),
        bit => bit,
    }
}

/// The numbers of the bits that are set, in ascending order.
pub(super) fn bits(mut word: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (lowest < u32::BITS).then_some(lowest as usize)
    })
}

fn highest_bit(word: u32) -> u32 {
    word & (1 << 31 >> word.leading_zeros().min(31))
}

#[cfg(test)]
mod tests {
    use heap::vec::Vec;

    use super::*;

    #[test]
    fn single_and_last_branch() {
        let branches = Branches::new(true);
        let awaited = |waiting, last| Awaited {
            all: &branches,
            waiting,
            last,
            stayed: 0,
            departed: 0,
        };
        let numbers: Vec<usize> = [5, 6, 7]
            .into_iter()
            .filter_map(|chain| branches.clone_of(chain))
            .collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert!(awaited(0, 1).is_empty() && awaited(0, 1).last().is_none());
        assert_eq!(awaited(0b010, 1).single(), Some(6));
        assert_eq!(
            (awaited(0b011, 0).single(), awaited(0b011, 0).last()),
            (None, Some(5))
        );
        let without_the_last = awaited(0b011, 2);
        let chains: Vec<u32> = without_the_last
            .set()
            .iter()
            .map(|(chain, _)| chain)
            .collect();
        assert_eq!(chains, [6, 5], "the highest number stands for the last");
        assert_eq!(without_the_last.last(), Some(6));
    }

    #[test]
    fn bits_of_a_word() {
        let numbers: Vec<usize> = bits(0b1010_0001).collect();
        assert_eq!(numbers, [0, 5, 7]);
        assert_eq!(highest_bit(0b1010_0001), 1 << 7);
        assert_eq!((bits(0).count(), highest_bit(0)), (0, 0));
        assert_eq!(highest_bit(u32::MAX), 1 << 31);
    }
}
