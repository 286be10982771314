//! The branches of a wait: the await chains of the leaf futures for which a traced future waits at
//! the same time. The probe stores each set once, in the table of chains, and the recorder reads it.
//!
//! The first chain is that of the leaf which was polled last; the others are in the order of their
//! ids. So the random order of a `select!` gives no more sets than the `select!` has branches. In
//! the event of the wait, the argument has a bit for each branch, in this order: 1 if the branch has
//! waited since before this poll. From bit 8 on, the argument has a bit for each branch of the
//! previous wait, in the order of that set: 1 if none of the wakers of the branch was called, but
//! the branch is not in this wait.

use heapless::Vec;

use crate::memory::Region;
use crate::memory::layout::{Interned, TEXT_BYTES};
#[cfg(feature = "alloc")]
use crate::protocol::chain::Digest;
#[cfg(feature = "alloc")]
use crate::protocol::intern;
use crate::protocol::intern::BRANCHES;
use crate::sync::Ordering;

/// Branches of a wait that are recorded.
pub const MAX_BRANCHES: usize = 8;

const _: () = assert!(MAX_BRANCHES * size_of::<u64>() <= TEXT_BYTES);

/// The chains of a wait's branches, the last polled first, each with a mark.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BranchSet {
    /// The branch that was polled last, then the others by id.
    branches: Vec<(u32, bool), MAX_BRANCHES>,
}

#[cfg(feature = "alloc")]
impl BranchSet {
    /// Adds a branch. The branch that was polled last must be added first.
    pub fn insert(&mut self, chain: u32, is_marked: bool) {
        let mut others = self.branches.iter().skip(1);
        let larger = others.position(|(other, _)| chain < *other);
        let index = larger.map_or(self.branches.len(), |position| position + 1);
        let _is_full = self.branches.insert(index, (chain, is_marked));
    }

    /// The branches in the order in which they are stored.
    pub fn iter(&self) -> impl Iterator<Item = (u32, bool)> {
        self.branches.iter().copied()
    }

    /// A bit for each branch that is marked.
    pub fn marks(&self) -> u64 {
        let bits = self.branches.iter().rev();
        bits.fold(0, |word, (_, is_marked)| word << 1 | u64::from(*is_marked))
    }
}

/// The hash of a set. `site` is the id of the site to report where the branches are not known.
#[cfg(feature = "alloc")]
pub(crate) fn hash(site: u32, set: &BranchSet) -> u64 {
    let mut digest = Digest::of(site);
    for (chain, _) in set.iter() {
        digest.add(SALT | u64::from(chain), MAX_BRANCHES);
    }
    digest.hash(false)
}

/// Distinguishes the ids of chains from the addresses of a chain, none of which is as large.
#[cfg(feature = "alloc")]
const SALT: u64 = 1 << 63;

/// Probe: returns the id of this set in the table of chains, or 0 if the table is full or missing.
#[cfg(feature = "alloc")]
pub(crate) fn intern(table: &[Interned], attach_id: u16, site: u32, set: &BranchSet) -> u32 {
    let bytes = set.branches.len() * size_of::<u64>();
    intern::place(table, attach_id, hash(site, set), |entry| {
        entry.kind.store(BRANCHES, Ordering::Relaxed);
        entry.site.store(site, Ordering::Relaxed);
        entry.text_bytes.store(bytes as u32, Ordering::Relaxed);
        for (text, (chain, _)) in entry.text.iter().zip(set.iter()) {
            text.store(chain.into(), Ordering::Relaxed);
        }
    })
}

/// A set of branches, as the recorder read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branches {
    /// Id of the site to report where the branches are not known.
    pub site: u32,
    /// Ids in the table of chains, the last polled first.
    pub chains: Vec<u32, MAX_BRANCHES>,
}

/// Returns the branches with this id in the table of chains, if its entry is complete.
pub fn lookup(table: &[Interned], id: u32) -> Option<Branches> {
    let entry = table.get((id as usize).checked_sub(1)?)?;
    let is_ready = entry.ready.load(Ordering::Acquire) != 0;
    if !is_ready || entry.kind.load(Ordering::Relaxed) != BRANCHES {
        return None;
    }
    let bytes = entry.text_bytes.load(Ordering::Relaxed) as usize;
    let words = (bytes / size_of::<u64>()).min(MAX_BRANCHES);
    let chains = entry.text.iter().take(words);
    Some(Branches {
        site: entry.site.load(Ordering::Relaxed),
        chains: chains
            .map(|word| word.load(Ordering::Relaxed) as u32)
            .collect(),
    })
}

impl Region<'_> {
    /// The branches of a wait, if this id in an event names a set of branches.
    pub fn branches_of_site(&self, site: u32) -> Option<Branches> {
        lookup(self.chains, self.chain_of_site(site)?)
    }
}

#[cfg(all(test, not(loom), feature = "alloc"))]
mod tests {
    use super::*;

    fn set(branches: &[(u32, bool)]) -> BranchSet {
        let mut set = BranchSet::default();
        for (chain, has_stayed) in branches {
            set.insert(*chain, *has_stayed);
        }
        set
    }

    #[test]
    fn order_of_branches_before_the_last_is_irrelevant() {
        let [left, right] = [[6, 9, 4], [6, 4, 9]].map(|chains| {
            let set = set(&chains.map(|chain| (chain, chain == 9)));
            (set.iter().collect::<Vec<_, 3>>(), set.marks())
        });
        assert_eq!(&left.0[..], [(6, false), (4, false), (9, true)]);
        assert_eq!(left.1, 0b100);
        assert_eq!(left, right);
        assert_eq!(set(&[(7, true)]).marks(), 1);
        assert!(set(&[]).marks() == 0);
    }

    #[test]
    fn equal_sets_share_an_entry() {
        let table: [Interned; 4] = Default::default();
        let id = intern(&table, 1, 3, &set(&[(5, false), (6, true)]));
        assert_eq!(intern(&table, 1, 3, &set(&[(5, true), (6, false)])), id);
        assert_ne!(intern(&table, 1, 3, &set(&[(6, true), (5, false)])), id);
        let found = lookup(&table, id).expect("a complete entry");
        assert_eq!((found.site, &found.chains[..]), (3, &[5, 6][..]));
        assert_eq!(lookup(&table, 0), None);
        assert_eq!(crate::protocol::chain::lookup(&table, id), None);
        table[id as usize - 1]
            .text_bytes
            .store(u32::MAX, Ordering::Relaxed);
        let found = lookup(&table, id).expect("a complete entry");
        assert_eq!(found.chains.len(), MAX_BRANCHES);
    }
}
