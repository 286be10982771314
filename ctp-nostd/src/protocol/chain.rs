//! Await chains, each stored once: which function awaits which, from a leaf future up to the poll
//! of a traced future, as return addresses.
//!
//! The probe finds a chain at `Waker::clone`, because at that time all its functions are on the
//! stack. In the event of a wait, a chain replaces the site, and names the site that it replaces.
//! Therefore chains have a table of their own, with ids that follow the ids of the table of sites.

use heapless::Vec;

use crate::memory::layout::{Interned, Layout, TEXT_BYTES};
use crate::memory::{Region, RegionOf};
use crate::protocol::intern::{self, CHAIN};
use crate::protocol::wait::{WAIT_EARLIER_WAKER, WAIT_UNREGISTERED, WaitKind};
use crate::sync::Ordering;

/// Addresses that an entry has room for.
pub const MAX_ADDRESSES: usize = TEXT_BYTES / size_of::<u64>();

/// Addresses of program code, innermost first: an address in the probe's own function, then where
/// each call returns to. In an incomplete chain of two addresses, the second was recorded by the
/// call itself, not found by a frame pointer.
pub type Addresses = Vec<u64, MAX_ADDRESSES>;

/// The content of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Id of the site to report where the chain is not known.
    pub site: u32,
    /// True if the last address is in the function that polled the traced future; otherwise the
    /// outermost calls are missing.
    pub is_whole: bool,
    /// The return addresses, innermost first.
    pub addresses: Addresses,
}

/// A hash of a chain's content, address by address: a sum of products with the powers of an odd
/// number (polynomial hashing), and a final mix. No step waits for the previous one. The table
/// needs no protection against deliberate collisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest {
    sum: u64,
    power: u64,
    addresses: usize,
}

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Digest {
    /// The digest of a chain at this site, without addresses.
    #[inline(always)]
    pub fn of(site: u32) -> Self {
        Digest {
            sum: site.into(),
            power: FACTOR,
            addresses: 0,
        }
    }

    /// Adds an address. Returns false if there are `most` already.
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

    /// The hash, if the addresses form a chain: at least one caller, and either complete or long
    /// enough.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub fn end(self, is_whole: bool, enough: usize) -> Option<u64> {
        let is_chain = 1 < self.addresses && (is_whole || enough <= self.addresses);
        is_chain.then(|| self.hash(is_whole))
    }

    /// The hash.
    #[inline(always)]
    pub fn hash(self, is_whole: bool) -> u64 {
        let sum = self.sum.wrapping_add(u64::from(is_whole) << 32);
        let mixed = (sum ^ sum >> 32).wrapping_mul(FACTOR);
        mixed ^ mixed >> 29
    }
}

impl Chain {
    pub(crate) fn hash(&self) -> u64 {
        let mut digest = Digest::of(self.site);
        for address in &self.addresses {
            digest.add(*address, MAX_ADDRESSES);
        }
        digest.hash(self.is_whole)
    }
}

/// The chains found in a poll, for the wait in which the poll ends.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundChain {
    /// Id in the table of chains, 0 for none.
    pub chain: u32,
    /// The last chain found, if the same poll found others; else 0. Carries `WAKER_DROPPED`,
    /// `LAST_WAKER_DROPPED` and `SOME_WAKER_DROPPED` until `settled` removes them.
    pub last: u32,
    /// The wakers with which the poll left the coroutine.
    pub wakers: PollWakers,
}

/// The wakers with which a poll leaves a coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PollWakers {
    /// Not counted.
    #[default]
    Unknown,
    /// The poll took a waker, and did not drop all wakers afterwards.
    #[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "not counted"))]
    Taken,
    /// The poll took no waker, but a waker of an earlier poll is left.
    #[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "not counted"))]
    Earlier,
    /// The poll took no waker, or dropped all wakers afterwards, and none is left.
    Unregistered,
}

impl PollWakers {
    /// The code of a wait that no leaf future announced.
    #[inline(always)]
    pub fn code(self) -> u8 {
        match self {
            PollWakers::Unknown | PollWakers::Taken => WaitKind::Unknown as u8,
            PollWakers::Earlier => WAIT_EARLIER_WAKER,
            PollWakers::Unregistered => WAIT_UNREGISTERED,
        }
    }
}

/// A waker was dropped after these chains were found, and none was taken since.
#[cfg(feature = "alloc")]
pub(crate) const WAKER_DROPPED: u32 = 1 << 31;

/// The dropped waker was the last waker.
#[cfg(feature = "alloc")]
pub(crate) const LAST_WAKER_DROPPED: u32 = 1 << 30;

/// One of several wakers was dropped.
#[cfg(feature = "alloc")]
pub(crate) const SOME_WAKER_DROPPED: u32 = 1 << 29;

#[cfg(feature = "alloc")]
impl FoundChain {
    /// True if the poll found several chains, or if the result is not settled.
    #[inline(always)]
    pub fn is_one_of_several(self) -> bool {
        self.last != 0
    }

    /// True if the poll found a single chain, and a waker was dropped afterwards, but not the last.
    pub fn is_only_before_a_drop(self) -> bool {
        self.last == SOME_WAKER_DROPPED
    }

    /// The result at the end of the poll. Empty for a wait that took no waker after all wakers were
    /// dropped.
    pub fn settled(self) -> Self {
        if self.last & LAST_WAKER_DROPPED == 0 {
            FoundChain {
                last: self.last & !(WAKER_DROPPED | SOME_WAKER_DROPPED),
                ..self
            }
        } else {
            FoundChain {
                wakers: self.wakers,
                ..FoundChain::default()
            }
        }
    }
}

/// The wait in which a poll has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundWait {
    /// Id in the table of chains, of a chain or of a set of branches; 0 if not known.
    pub chain: u32,
    /// The coroutine waits for several leaf futures.
    pub is_one_of_several: bool,
    /// The argument of a wait with branches.
    pub argument: u64,
    /// The wakers with which the poll left the coroutine.
    pub wakers: PollWakers,
}

#[cfg(feature = "alloc")]
impl FoundWait {
    /// A wait for a single leaf future.
    #[inline(always)]
    pub fn at(chain: u32) -> Self {
        FoundWait {
            chain,
            ..FoundWait::default()
        }
    }
}

/// Probe: returns the id of this chain in the table of chains, or 0 if the table is full or
/// missing.
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

/// Returns the chain with this id in the table of chains, if its entry is complete.
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

impl<L: Layout> RegionOf<'_, L> {
    /// Converts an id in the table of chains to the id used in events.
    pub fn site_of_chain(&self, chain: u32) -> u32 {
        match chain {
            0 => 0,
            chain => (self.sites.len() as u32).saturating_add(chain),
        }
    }
}

impl Region<'_> {
    /// The entry of the site or chain with this id in an event.
    pub fn entry_of_site(&self, site: u32) -> Option<&Interned> {
        let (table, id) = match self.chain_of_site(site) {
            Some(chain) => (self.chains, chain),
            None => (self.sites, site),
        };
        table.get((id as usize).checked_sub(1)?)
    }

    /// The id in the table of chains, if this id in an event names a chain.
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
    fn equal_chains_share_an_entry() {
        let table = table();
        let (long, short) = (chain(&[10, 20, 30]), chain(&[10, 20]));
        let id = intern(&table, 1, &long);
        assert_eq!(intern(&table, 1, &long), id);
        assert_ne!(intern(&table, 1, &short), id);
        assert_eq!(lookup(&table, id), Some(long));
    }

    #[test]
    fn chains_differ_by_site_and_by_completeness() {
        let table = table();
        let whole = chain(&[10; MAX_ADDRESSES]);
        let cut = Chain {
            is_whole: false,
            ..whole.clone()
        };
        let elsewhere = Chain {
            site: 4,
            ..whole.clone()
        };
        for chain in [whole, cut, elsewhere] {
            let id = intern(&table, 1, &chain);
            assert_eq!(lookup(&table, id), Some(chain));
        }
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn digest_equals_chain_hash_and_rejects_non_chains() {
        let digest = |addresses: &[u64]| {
            let mut digest = Digest::of(3);
            let added: usize = addresses
                .iter()
                .map(|address| usize::from(digest.add(*address, MAX_ADDRESSES)))
                .sum();
            (digest, added)
        };
        let (whole, added) = digest(&[10, 20, 30]);
        assert_eq!(
            (whole.end(true, MAX_ADDRESSES), added),
            (Some(chain(&[10, 20, 30]).hash()), 3)
        );
        assert_eq!(whole.end(false, MAX_ADDRESSES), None);
        assert_eq!(digest(&[10]).0.end(true, MAX_ADDRESSES), None);
        let (full, added) = digest(&[10; MAX_ADDRESSES + 1]);
        assert_eq!(added, MAX_ADDRESSES);
        assert!(
            full.end(false, MAX_ADDRESSES).is_some()
                && full.end(false, MAX_ADDRESSES) != full.end(true, MAX_ADDRESSES)
        );
        assert_ne!(chain(&[10, 20]).hash(), chain(&[20, 10]).hash());
    }

    #[test]
    fn full_table_returns_zero_and_keeps_the_entries() {
        let table = table();
        let ids: [u32; 5] = core::array::from_fn(|i| intern(&table, 1, &chain(&[i as u64 + 1])));
        assert!(ids[..4].iter().all(|id| *id != 0));
        assert_eq!(ids[4], 0);
        assert_eq!(lookup(&table, ids[0]), Some(chain(&[1])));
        assert_eq!(intern(&[], 1, &chain(&[1])), 0);
    }

    #[test]
    fn lookup_of_missing_or_wrong_entry_is_none() {
        let table = table();
        for id in [0, 1, 4, 5, u32::MAX] {
            assert_eq!(lookup(&table, id), None);
        }
        let id = intern(&table, 1, &chain(&[1]));
        table[id as usize - 1]
            .text_bytes
            .store(u32::MAX, Ordering::Relaxed);
        let found = lookup(&table, id).expect("a complete entry");
        assert!(found.addresses.is_full());
    }
}
