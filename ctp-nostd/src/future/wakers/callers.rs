//! Who calls the waker of a traced future: the chain of functions on the stack, as an id in the table
//! of chains. A leaf future that clones it is awaited by those; whoever wakes is somewhere in those.
//!
//! Nobody knows beforehand whether a function keeps its frame pointer: what is found is a claim, which
//! the reader of a trace checks against the program's own tables, and what ends soon is not told.
//! Of a wait the whole chain is wanted, for it makes the wait one of its own, or else the leaf, which
//! is known without frame pointers (`future/wakers/functions.rs`); of a wake, which is often called by a thread of
//! which the first functions are libc's, its inner end will do.
#![allow(
    unsafe_code,
    reason = "follows frame pointers on a stack that is known"
)]

use core::ops::Range;
use core::sync::atomic::Ordering;

use heapless::Vec;

use super::latest_walk::{Key, LatestWalk};
use super::walks::{MOST_OF_A_WAKE, Walks};
use crate::linux::stack::walk::{self, Here, Record};
use crate::linux::{Linux, stack};
use crate::platform::Probe;
use crate::platform::{Limits, Polled};
use crate::protocol::chain::{Addresses, Chain, Digest, MOST_ADDRESSES};

/// So many are no accident.
const ENOUGH_OF_A_WAKE: usize = 4;

/// Where to look for callers.
#[derive(Clone, Copy, Debug)]
struct Search {
    here: Here,
    /// Up to the top the stack of the thread that asks can be read, from where it is; at the base is the
    /// last one.
    limits: Limits,
    /// Where the call is known to return to, else 0.
    caller: usize,
    /// Addresses that are told at most, and those with which it is a chain though it is not whole.
    most: usize,
    enough: usize,
    /// Id of the site that the chain stands for.
    site: u32,
}

/// Who awaits the leaf that clones the waker, up to the function that polls the traced future.
#[inline(always)]
pub(crate) fn of_a_clone(
    probe: &Probe<Linux>,
    polled: &Polled,
    here: Here,
    limits: Limits,
    site: u32,
) -> u32 {
    let search = Search::of_a_clone(polled, here, limits, site);
    let known =
        Walks::of(polled, probe.attachment).and_then(|walks| search.recall(probe, &walks.clone));
    match known.filter(|chain| *chain != 0) {
        Some(chain) => chain,
        // A copy, so that it is in memory only where it has to be.
        None => of_a_clone_anew(probe, polled, &{ here }, limits, site),
    }
}

/// Who awaits such a leaf, where it is not known from the walk before.
#[inline(never)]
fn of_a_clone_anew(
    probe: &Probe<Linux>,
    polled: &Polled,
    here: &Here,
    limits: Limits,
    site: u32,
) -> u32 {
    if probe.region.chains.is_empty() {
        return 0;
    }
    let search = Search::of_a_clone(polled, *here, limits, site);
    let (stack, caller) = (search.stack(), search.caller);
    let is_known = here.may_have_a_record() && stack::covers(polled, &stack);
    // SAFETY: it is on the stack of this thread, and so is what lies above it up to the poll.
    if !is_known || !unsafe { walk::is_called_from(here, &stack, caller) } {
        return of_the_leaf(probe, *here, caller, site);
    }
    let latest = Walks::find(polled, probe.attachment).map(|walks| &walks.clone);
    match search.chain(probe, latest) {
        0 => of_the_leaf(probe, *here, caller, site),
        chain => chain,
    }
}

/// The leaf alone: who awaits it is not known.
#[inline]
fn of_the_leaf(probe: &Probe<Linux>, here: Here, caller: usize, site: u32) -> u32 {
    if caller == 0 {
        return 0;
    }
    let addresses = [here.pc as u64, caller as u64];
    let mut digest = Digest::of(site);
    for address in addresses {
        digest.add(address, MOST_ADDRESSES);
    }
    let chain = || Chain {
        site,
        is_whole: false,
        addresses: addresses.into_iter().collect(),
    };
    let hash = digest.end(false, addresses.len());
    hash.map_or(0, |hash| probe.chain(hash, chain))
}

/// Where the waker is called, up to the function that polls the traced future that runs here, or to
/// the thread's first: the id of a site, 0 if nothing is known.
#[inline(always)]
pub(crate) fn of_a_wake(probe: &Probe<Linux>, polled: &Polled, here: Here) -> u32 {
    if !here.may_have_a_record() {
        return 0;
    }
    let search = Search::of_a_wake(polled, here);
    let known =
        Walks::of(polled, probe.attachment).and_then(|walks| search.recall(probe, &walks.wake));
    let chain = match known {
        Some(chain) => chain,
        None => of_a_wake_anew(probe, polled, &{ here }), // as above
    };
    probe.region.site_of_chain(chain)
}

/// Where a waker is called, where it is not known from the walk before: the chain's id, 0 if there is none.
#[inline(never)]
fn of_a_wake_anew(probe: &Probe<Linux>, polled: &Polled, here: &Here) -> u32 {
    let is_known = !probe.region.chains.is_empty()
        && stack::covers(polled, &(here.sp..here.sp.saturating_add(1)));
    if !is_known {
        return 0;
    }
    let latest = Walks::find(polled, probe.attachment).map(|walks| &walks.wake);
    Search::of_a_wake(polled, *here).chain(probe, latest)
}

impl Search {
    #[inline(always)]
    fn of_a_clone(polled: &Polled, here: Here, limits: Limits, site: u32) -> Self {
        Search {
            here,
            limits,
            caller: polled.returns_to.load(Ordering::Relaxed),
            most: MOST_ADDRESSES,
            enough: MOST_ADDRESSES,
            site,
        }
    }

    /// As far up as the thread's stack is known.
    #[inline(always)]
    fn of_a_wake(polled: &Polled, here: Here) -> Self {
        let known = polled.stack_high.load(Ordering::Relaxed);
        let limits = match polled.innermost() {
            Some(Limits { top, base }) => Limits {
                top: top.min(known),
                base,
            },
            None => Limits {
                top: known,
                base: 0,
            },
        };
        Search {
            here,
            limits,
            caller: 0,
            most: MOST_OF_A_WAKE,
            enough: ENOUGH_OF_A_WAKE,
            site: 0,
        }
    }

    #[inline(always)]
    fn key(&self, probe: &Probe<Linux>) -> Key {
        Key {
            whose: u64::from(probe.attachment) << 32 | u64::from(self.site),
            here: self.here,
            end: self.limits.top,
            base: self.limits.base,
            caller: self.caller,
        }
    }

    fn stack(&self) -> Range<usize> {
        self.here.sp..self.limits.top
    }

    /// The chain that would be found, if that is known.
    #[inline(always)]
    fn recall<const MOST: usize>(
        &self,
        probe: &Probe<Linux>,
        latest: &LatestWalk<MOST>,
    ) -> Option<u32> {
        // SAFETY: it is this thread's own, and a function of it asks.
        unsafe { latest.recall(&self.key(probe)) }
    }

    /// Its id, 0 if it is none. It may be known from now on.
    fn chain<const MOST: usize>(
        self,
        probe: &Probe<Linux>,
        latest: Option<&LatestWalk<MOST>>,
    ) -> u32 {
        let mut digest = Digest::of(self.site);
        digest.add(self.here.pc as u64, self.most);
        let is_whole = self.walk(|it| digest.add(it.returns_to as u64, self.most));
        let hash = digest.end(is_whole, self.enough);
        let chain = hash.map_or(0, |hash| probe.chain(hash, || self.found()));
        // One for which the table has no room is counted each time.
        let latest = latest.filter(|_| chain != 0 || hash.is_none());
        if let Some(latest) = latest.filter(|it| it.is_passed_again(&self.here, chain)) {
            self.keep(probe, latest, chain);
        }
        chain
    }

    /// Tells the records that it passes, until `told` has enough. True if it reaches the base.
    #[inline(always)]
    fn walk(&self, told: impl FnMut(Record) -> bool) -> bool {
        // SAFETY: whoever made the search has the stack for readable.
        unsafe { walk::walk(&self.here, self.stack(), self.limits.base, told) }
    }

    #[cold]
    #[inline(never)]
    fn keep<const MOST: usize>(&self, probe: &Probe<Linux>, latest: &LatestWalk<MOST>, chain: u32) {
        let mut records: Vec<Record, MOST> = Vec::new();
        self.walk(|it| records.push(it).is_ok());
        latest.keep(&self.key(probe), &records, chain);
    }

    /// The chain, by one more walk, to put it into the table.
    #[cold]
    #[inline(never)]
    fn found(self) -> Chain {
        let mut addresses = Addresses::new();
        let mut add = |address| addresses.len() < self.most && addresses.push(address).is_ok();
        add(self.here.pc as u64);
        let is_whole = self.walk(|it| add(it.returns_to as u64));
        Chain {
            site: self.site,
            is_whole,
            addresses,
        }
    }
}
