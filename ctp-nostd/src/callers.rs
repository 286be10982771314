//! Who calls the waker of a traced future: the chain of functions on the stack, as an id in the table
//! of chains. A leaf future that clones it is awaited by those; whoever wakes is somewhere in those.
//!
//! Nobody knows beforehand whether a function keeps its frame pointer: what is found is a claim, which
//! the reader of a trace checks against the program's own tables, and what ends soon is not told.
//! Of a wait the whole chain is wanted, for it makes the wait one of its own, or else the leaf, which
//! is known without frame pointers (`linux/entry.rs`); of a wake, which is often called by a thread of
//! which the first functions are libc's, its inner end will do.
#![allow(
    unsafe_code,
    reason = "follows frame pointers on a stack that is known"
)]

use core::ops::Range;
use core::sync::atomic::Ordering;

use heapless::Vec;

use crate::chain::{Addresses, Chain, Digest, MOST_ADDRESSES};
use crate::latest_walk::{Key, MOST_RECORDS};
use crate::linux::{Linux, stack};
use crate::polling::{Limits, Polled};
use crate::probe::Probe;
use crate::site::SiteWord;
use crate::walk::{self, Here, Record};

/// Addresses of a wake that are told.
const MOST_OF_A_WAKE: usize = MOST_RECORDS + 1;
/// So many are no accident.
const ENOUGH_OF_A_WAKE: usize = 4;

/// Where to look for callers.
#[derive(Clone, Copy, Debug)]
struct Search {
    here: Here,
    /// Up to here the stack of the thread that asks can be read, from where it is.
    end: usize,
    /// Frame pointer of the last one.
    base: usize,
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
    if probe.region.chains.is_empty() {
        return 0;
    }
    let stack = here.sp..limits.top;
    let caller = polled.returns_to.load(Ordering::Relaxed);
    let is_known = here.may_have_a_record() && stack::covers(polled, &stack);
    // SAFETY: it is on the stack of this thread, and so is what lies above it up to the poll.
    if !is_known || !unsafe { walk::is_called_from(&here, &stack, caller) } {
        return of_the_leaf(probe, here, caller, site);
    }
    let search = Search {
        here,
        end: limits.top,
        base: limits.base,
        most: MOST_ADDRESSES,
        enough: MOST_ADDRESSES,
        site,
    };
    match search.chain(probe) {
        0 => of_the_leaf(probe, here, caller, site),
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
/// the thread's first.
#[inline(always)]
pub(crate) fn of_a_wake(probe: &Probe<Linux>, polled: &Polled, here: Here) -> SiteWord {
    let key = key_of_a_wake(probe, polled, &here);
    // SAFETY: `polled` is this thread's, and the registers are those of a function that goes on.
    let chain = match unsafe { polled.latest_wake.recall(&key) } {
        Some(chain) => chain,
        None => of_a_wake_anew(probe, polled, &here),
    };
    match probe.region.site_of_chain(chain) {
        0 => SiteWord::default(),
        id => SiteWord::from_id(id),
    }
}

/// What a walk from there depends on.
#[inline(always)]
fn key_of_a_wake(probe: &Probe<Linux>, polled: &Polled, here: &Here) -> Key {
    let known_end = polled.stack_high.load(Ordering::Relaxed);
    let (end, base) = match polled.innermost() {
        Some(limits) => (limits.top.min(known_end), limits.base),
        None => (known_end, 0),
    };
    Key {
        attachment: probe.attachment,
        here: *here,
        end,
        base,
    }
}

/// The same where it is not the thread's latest walk: the chain's id, 0 if there is none.
#[inline(never)]
fn of_a_wake_anew(probe: &Probe<Linux>, polled: &Polled, here: &Here) -> u32 {
    if !here.may_have_a_record()
        || probe.region.chains.is_empty()
        || stack::around(polled, here.sp).is_none()
    {
        return 0;
    }
    let key = key_of_a_wake(probe, polled, here);
    let search = Search {
        here: *here,
        end: key.end,
        base: key.base,
        most: MOST_OF_A_WAKE,
        enough: ENOUGH_OF_A_WAKE,
        site: 0,
    };
    let chain = search.chain(probe);
    if polled.latest_wake.is_passed_again(chain) {
        polled.latest_wake.keep(&key, &search.records(), chain);
    }
    chain
}

impl Search {
    /// Its id, 0 if it is none.
    #[inline(always)]
    fn chain(self, probe: &Probe<Linux>) -> u32 {
        let mut digest = Digest::of(self.site);
        digest.add(self.here.pc as u64, self.most);
        let add = |it: Record| digest.add(it.returns_to as u64, self.most);
        // SAFETY: whoever made the search has the stack for readable.
        let is_whole = unsafe { walk::walk(&self.here, self.stack(), self.base, add) };
        let hash = digest.end(is_whole, self.enough);
        hash.map_or(0, |hash| probe.chain(hash, || self.found()))
    }

    /// Those that are passed. The first address is no record's.
    #[cold]
    fn records(self) -> Vec<Record, MOST_RECORDS> {
        let mut records = Vec::new();
        let add = |record| records.push(record).is_ok();
        // SAFETY: as before, in the same function.
        unsafe { walk::walk(&self.here, self.stack(), self.base, add) };
        records
    }

    fn stack(&self) -> Range<usize> {
        self.here.sp..self.end
    }

    /// The same again, to keep it.
    #[cold]
    #[inline(never)]
    fn found(self) -> Chain {
        let mut addresses = Addresses::new();
        let mut add = |address| addresses.len() < self.most && addresses.push(address).is_ok();
        add(self.here.pc as u64);
        let add = |it: Record| add(it.returns_to as u64);
        // SAFETY: as before, in the same function.
        let is_whole = unsafe { walk::walk(&self.here, self.stack(), self.base, add) };
        Chain {
            site: self.site,
            is_whole,
            addresses,
        }
    }
}
