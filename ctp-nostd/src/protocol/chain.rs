//! Await chains, each stored once: which function awaits which, from a leaf future up to the poll of
//! a traced one, as return addresses. Both halves.
//!
//! They are told at `Waker::clone`: that runs while all of them are on the stack. A chain takes the
//! place of a site in the event of a wait, and says which site that would have been. So its
//! entries, in a table of their own, have the ids behind those of the table of sites.

use heapless::Vec;

use crate::memory::Region;
use crate::memory::layout::{Interned, TEXT_BYTES};
use crate::protocol::intern::{self, CHAIN};
use crate::sync::Ordering;

/// Addresses that an entry has room for.
pub const MOST_ADDRESSES: usize = TEXT_BYTES / size_of::<u64>();

/// Addresses of program code, the innermost first: one in the probe's own function, then where
/// each call returns to. Two of a chain that is not whole were not found by a frame pointer, but told
/// by the call itself.
pub type Addresses = Vec<u64, MOST_ADDRESSES>;

/// What an entry says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Id of the site that is told where no chain is known.
    pub site: u32,
    /// The last address is in the function that polled the traced future; else what is outermost
    /// is missing.
    pub is_whole: bool,
    /// Who called whom.
    pub addresses: Addresses,
}

/// A hash of a chain's content, address by address, for a table that nobody fills on purpose with
/// what collides: a sum of products with the powers of an odd number (polynomial hashing), of which
/// no step waits for the one before, and a last mixing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest {
    sum: u64,
    power: u64,
    addresses: usize,
}

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Digest {
    /// Of a chain at this site, without addresses.
    #[inline(always)]
    pub fn of(site: u32) -> Self {
        Digest {
            sum: site.into(),
            power: FACTOR,
            addresses: 0,
        }
    }

    /// One more. False if there are so many already.
    #[inline(always)]
    pub fn add(&mut self, address: u64, most: usize) -> bool {
        let has_room = self.addresses < most;
        if has_room {
            self.sum = self.sum.wrapping_add(address.wrapping_mul(self.power));
            self.power = self.power.wrapping_mul(FACTOR);
            self.addresses += 1;
        }
        has_room
    }

    /// The hash, if the chain is one: it has a caller, and is whole or has addresses enough.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub fn end(self, is_whole: bool, enough: usize) -> Option<u64> {
        let is_chain = 1 < self.addresses && (is_whole || enough <= self.addresses);
        is_chain.then(|| self.hash(is_whole))
    }

    #[inline(always)]
    fn hash(self, is_whole: bool) -> u64 {
        let sum = self.sum.wrapping_add(u64::from(is_whole) << 32);
        let mixed = (sum ^ sum >> 32).wrapping_mul(FACTOR);
        mixed ^ mixed >> 29
    }
}

impl Chain {
    pub(crate) fn hash(&self) -> u64 {
        let mut digest = Digest::of(self.site);
        for address in &self.addresses {
            digest.add(*address, MOST_ADDRESSES);
        }
        digest.hash(self.is_whole)
    }
}

/// What a poll found of the wait that it ends in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundChain {
    /// Id in the table of chains, 0 for none.
    pub chain: u32,
    /// The last one, if others were found in the same poll; else 0. With `OVER` and `VOID`, until
    /// it is `settled`.
    pub last: u32,
}

/// A waker was dropped after all of that was found, and none taken since.
#[cfg(feature = "alloc")]
pub(crate) const OVER: u32 = 1 << 31;

/// It was the last one that there was.
#[cfg(feature = "alloc")]
pub(crate) const VOID: u32 = 1 << 30;

impl FoundChain {
    /// Others were found in the same poll, or it is not settled.
    #[inline(always)]
    pub fn is_one_of_several(self) -> bool {
        self.last != 0
    }

    /// What is known at the end of the poll: nothing of a wait that took no waker, where all were dropped.
    #[cfg(feature = "alloc")]
    pub fn settled(self) -> Self {
        match self.last & VOID {
            0 => FoundChain {
                last: self.last & !OVER,
                ..self
            },
            _ => FoundChain::default(),
        }
    }

    /// What is known after a poll in which each leaf future cloned the waker, and that left one alive: the
    /// others were dropped, and the last leaf that was polled is the one that waits.
    #[cfg(feature = "alloc")]
    pub fn of_one_waker(self) -> Self {
        match self.last {
            0 => self,
            chain => FoundChain { chain, last: 0 },
        }
    }

    /// What is known of one that waited by the first chain alone, as far as is known: where that is found once
    /// more, and another one behind it, the first wait is most likely over.
    #[cfg(feature = "alloc")]
    pub fn behind(self, waited: u32) -> Self {
        match self.chain == waited {
            true => FoundChain {
                chain: self.last,
                last: self.chain,
            },
            false => self,
        }
    }
}

/// Probe: the id of this chain in the table of chains, 0 if that is full or not there.
pub fn intern(table: &[Interned], attach_id: u16, chain: &Chain) -> u32 {
    intern::place(table, attach_id, chain.hash(), |entry| fill(entry, chain))
}

fn fill(entry: &Interned, chain: &Chain) {
    let bytes = chain.addresses.len() * size_of::<u64>();
    entry.kind.store(CHAIN, Ordering::Relaxed);
    entry.line.store(chain.is_whole.into(), Ordering::Relaxed);
    entry.site.store(chain.site, Ordering::Relaxed);
    entry.text_bytes.store(bytes as u32, Ordering::Relaxed);
    for (word, address) in entry.text.iter().zip(&chain.addresses) {
        word.store(*address, Ordering::Relaxed);
    }
}

/// The chain with this id in the table of chains, if there is one and it is filled in.
pub fn lookup(table: &[Interned], id: u32) -> Option<Chain> {
    let entry = table.get((id as usize).checked_sub(1)?)?;
    let is_ready = entry.ready.load(Ordering::Acquire) != 0;
    if !is_ready || entry.kind.load(Ordering::Relaxed) != CHAIN {
        return None;
    }
    let bytes = entry.text_bytes.load(Ordering::Relaxed) as usize;
    let words = entry.text.iter().take(bytes / size_of::<u64>());
    Some(Chain {
        site: entry.site.load(Ordering::Relaxed),
        is_whole: entry.line.load(Ordering::Relaxed) != 0,
        addresses: words.map(|word| word.load(Ordering::Relaxed)).collect(),
    })
}

impl Region<'_> {
    /// The id in an event of the chain with this id in its table.
    pub fn site_of_chain(&self, chain: u32) -> u32 {
        match chain {
            0 => 0,
            chain => (self.sites.len() as u32).saturating_add(chain),
        }
    }

    /// The entry of the site or chain with this id in an event.
    pub fn entry_of_site(&self, site: u32) -> Option<&Interned> {
        let (table, id) = match self.chain_of_site(site) {
            Some(chain) => (self.chains, chain),
            None => (self.sites, site),
        };
        table.get((id as usize).checked_sub(1)?)
    }

    /// The id in the table of chains of the site with this id in an event, if it is one.
    pub fn chain_of_site(&self, site: u32) -> Option<u32> {
        let chain = (site as usize).checked_sub(self.sites.len())?;
        (0 < chain && chain <= self.chains.len()).then_some(chain as u32)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn table() -> [Interned; 4] {
        Default::default()
    }

    fn chain(addresses: &[u64]) -> Chain {
        Chain {
            site: 3,
            is_whole: true,
            addresses: addresses.iter().copied().collect(),
        }
    }

    #[test]
    fn a_chain_is_stored_once_and_read_back() {
        let table = table();
        let (one, other) = (chain(&[10, 20, 30]), chain(&[10, 20]));
        let id = intern(&table, 1, &one);
        assert_eq!(intern(&table, 1, &one), id);
        assert_ne!(intern(&table, 1, &other), id);
        assert_eq!(lookup(&table, id), Some(one));
    }

    #[test]
    fn chains_that_differ_in_their_site_or_end_are_others() {
        let table = table();
        let one = chain(&[10; MOST_ADDRESSES]);
        let cut = Chain {
            is_whole: false,
            ..one.clone()
        };
        let elsewhere = Chain {
            site: 4,
            ..one.clone()
        };
        for chain in [one, cut, elsewhere] {
            let id = intern(&table, 1, &chain);
            assert_eq!(lookup(&table, id), Some(chain));
        }
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn a_hash_is_that_of_the_chain_and_none_of_what_is_no_chain() {
        let digest = |addresses: &[u64]| {
            let mut digest = Digest::of(3);
            let added: usize = addresses
                .iter()
                .map(|it| usize::from(digest.add(*it, MOST_ADDRESSES)))
                .sum();
            (digest, added)
        };
        let (whole, added) = digest(&[10, 20, 30]);
        assert_eq!(
            (whole.end(true, MOST_ADDRESSES), added),
            (Some(chain(&[10, 20, 30]).hash()), 3)
        );
        assert_eq!(whole.end(false, MOST_ADDRESSES), None);
        assert_eq!(digest(&[10]).0.end(true, MOST_ADDRESSES), None);
        let (full, added) = digest(&[10; MOST_ADDRESSES + 1]);
        assert_eq!(added, MOST_ADDRESSES);
        assert!(
            full.end(false, MOST_ADDRESSES).is_some()
                && full.end(false, MOST_ADDRESSES) != full.end(true, MOST_ADDRESSES)
        );
        assert_ne!(chain(&[10, 20]).hash(), chain(&[20, 10]).hash());
    }

    #[test]
    fn a_full_table_gives_none_and_keeps_what_it_has() {
        let table = table();
        let ids: [u32; 5] = core::array::from_fn(|i| intern(&table, 1, &chain(&[i as u64 + 1])));
        assert!(ids[..4].iter().all(|id| *id != 0));
        assert_eq!(ids[4], 0);
        assert_eq!(lookup(&table, ids[0]), Some(chain(&[1])));
        assert_eq!(intern(&[], 1, &chain(&[1])), 0);
    }

    #[test]
    fn what_is_no_chain_or_not_there_is_none() {
        let table = table();
        for id in [0, 1, 4, 5, u32::MAX] {
            assert_eq!(lookup(&table, id), None);
        }
        let id = intern(&table, 1, &chain(&[1]));
        table[id as usize - 1]
            .text_bytes
            .store(u32::MAX, Ordering::Relaxed);
        let found = lookup(&table, id).expect("it is there");
        assert!(found.addresses.is_full());
    }
}
