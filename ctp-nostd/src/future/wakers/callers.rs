//! The callers of a traced future's waker: the chain of functions on the stack, as an id in the
//! table of chains. These functions await the leaf future that clones the waker, or contain the
//! code that wakes.
//!
//! It is not known in advance whether a function keeps its frame pointer. So a chain is a claim,
//! which the reader of a trace checks against the program's own tables, and a short chain is not
//! recorded.
//!
//! For a wait, the whole chain is needed, because it identifies the wait. Without it, the leaf
//! alone is used, which is known without frame pointers (`future/wakers/functions.rs`). For a wake,
//! the inner end suffices: wakes often come from threads with libc's functions at the outer end.
#![allow(
    unsafe_code,
    reason = "follows frame pointers on a stack that is known"
)]

use core::ops::Range;
use core::sync::atomic::Ordering;

use heapless::Vec;

use super::latest_walk::{Key, LatestWalk};
use super::walks::{MAX_WAKE_ADDRESSES, Walks};
use crate::linux::stack::walk::{self, FramePosition, FrameRecord};
use crate::linux::{Linux, stack};
use crate::platform::Probe;
use crate::platform::{Limits, Polled};
use crate::protocol::chain::{Addresses, Chain, Digest, MAX_ADDRESSES};

/// The shortest incomplete chain of a wake that is recorded. Values that only look like frame
/// pointers do not form a chain of this length.
const ENOUGH_WAKE_ADDRESSES: usize = 4;

/// Where to look for callers.
#[derive(Clone, Copy, Debug)]
struct Search {
    here: FramePosition,
    /// The stack of the calling thread is readable from its current position up to `top`; the frame
    /// at `base` is the last frame.
    limits: Limits,
    /// The return address of the leaf's call of `clone`; 0 if unknown, or for a wake.
    caller: usize,
    /// The largest number of addresses to record, and the number that makes an incomplete chain
    /// valid.
    most: usize,
    enough: usize,
    /// Id of the site that the chain replaces.
    site: u32,
}

/// Finds the chain of functions that await the leaf which clones the waker, up to the function that
/// polls the traced future. Returns its id, 0 if not known.
#[inline(always)]
pub(crate) fn clone_chain(
    probe: &Probe<Linux>,
    polled: &Polled,
    here: FramePosition,
    limits: Limits,
    site: u32,
) -> u32 {
    let search = Search::clone_chain(polled, here, limits, site);
    let known =
        Walks::own(polled, probe.attachment).and_then(|walks| search.recall(probe, &walks.clone));
    match known.filter(|chain| *chain != 0) {
        Some(chain) => chain,
        // Borrows a copy, so that the position is in memory only on this path.
        None => find_clone_chain(probe, polled, &{ here }, limits, site),
    }
}

/// Finds the chain of [`clone_chain`] if the latest walk does not match.
#[inline(never)]
fn find_clone_chain(
    probe: &Probe<Linux>,
    polled: &Polled,
    here: &FramePosition,
    limits: Limits,
    site: u32,
) -> u32 {
    if probe.region.chains.is_empty() {
        return 0;
    }
    let search = Search::clone_chain(polled, *here, limits, site);
    let (stack, caller) = (search.stack(), search.caller);
    let is_known = here.may_have_record() && stack::covers(polled, &stack);
    // SAFETY: the frame is on the stack of this thread, and so is everything above it up to the
    // poll.
    if !is_known || !unsafe { walk::is_called_from(here, &stack, caller) } {
        return leaf_chain(probe, *here, caller, site);
    }
    let latest = Walks::own_or_claimed(polled, probe.attachment).map(|walks| &walks.clone);
    match search.chain(probe, latest) {
        0 => leaf_chain(probe, *here, caller, site),
        chain => chain,
    }
}

/// The leaf alone, because its callers are not known.
#[inline]
fn leaf_chain(probe: &Probe<Linux>, here: FramePosition, caller: usize, site: u32) -> u32 {
    if caller == 0 {
        return 0;
    }
    let addresses = [here.pc as u64, caller as u64];
    let mut digest = Digest::of(site);
    for address in addresses {
        digest.add(address, MAX_ADDRESSES);
    }
    let Some(hash) = digest.end(false, addresses.len()) else {
        return 0;
    };
    probe.chain(hash, || Chain {
        site,
        is_whole: false,
        addresses: addresses.into_iter().collect(),
    })
}

/// Finds the chain of functions that call the waker, up to the function that polls the current
/// traced future, or to the thread's first function. Returns the id of the chain's site, 0 if not
/// known.
#[inline(always)]
pub(crate) fn wake_site(probe: &Probe<Linux>, polled: &Polled, here: FramePosition) -> u32 {
    if !here.may_have_record() {
        return 0;
    }
    let search = Search::wake_site(polled, here);
    let known =
        Walks::own(polled, probe.attachment).and_then(|walks| search.recall(probe, &walks.wake));
    let chain = match known {
        Some(chain) => chain,
        None => find_wake_chain(probe, polled, &{ here }), // a copy, as for a clone
    };
    probe.region.site_of_chain(chain)
}

/// Finds the chain of a wake if the latest walk does not match. Returns its id, 0 if there is none.
#[inline(never)]
fn find_wake_chain(probe: &Probe<Linux>, polled: &Polled, here: &FramePosition) -> u32 {
    let is_known = !probe.region.chains.is_empty()
        && stack::covers(polled, &(here.sp..here.sp.saturating_add(1)));
    if !is_known {
        return 0;
    }
    let latest = Walks::own_or_claimed(polled, probe.attachment).map(|walks| &walks.wake);
    Search::wake_site(polled, *here).chain(probe, latest)
}

impl Search {
    #[inline(always)]
    fn clone_chain(polled: &Polled, here: FramePosition, limits: Limits, site: u32) -> Self {
        Search {
            here,
            limits,
            caller: polled.returns_to.load(Ordering::Relaxed),
            most: MAX_ADDRESSES,
            enough: MAX_ADDRESSES,
            site,
        }
    }

    /// The search covers the known part of the thread's stack.
    #[inline(always)]
    fn wake_site(polled: &Polled, here: FramePosition) -> Self {
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
            most: MAX_WAKE_ADDRESSES,
            enough: ENOUGH_WAKE_ADDRESSES,
            site: 0,
        }
    }

    #[inline(always)]
    fn key(&self, probe: &Probe<Linux>) -> Key {
        Key {
            scope: u64::from(probe.attachment) << 32 | u64::from(self.site),
            here: self.here,
            end: self.limits.top,
            base: self.limits.base,
            caller: self.caller,
        }
    }

    fn stack(&self) -> Range<usize> {
        self.here.sp..self.limits.top
    }

    /// The chain that the search would find, if it is known.
    #[inline(always)]
    fn recall<const MAX_RECORDS: usize>(
        &self,
        probe: &Probe<Linux>,
        latest: &LatestWalk<MAX_RECORDS>,
    ) -> Option<u32> {
        // SAFETY: the walk is this thread's own, and the caller is a function of this thread.
        unsafe { latest.recall(&self.key(probe)) }
    }

    /// Searches for the chain, and returns its id, 0 if there is none. The walk may be kept for
    /// later searches.
    fn chain<const MAX_RECORDS: usize>(
        self,
        probe: &Probe<Linux>,
        latest: Option<&LatestWalk<MAX_RECORDS>>,
    ) -> u32 {
        let mut digest = Digest::of(self.site);
        digest.add(self.here.pc as u64, self.most);
        let is_whole = self.walk(|record| digest.add(record.returns_to as u64, self.most));
        let hash = digest.end(is_whole, self.enough);
        let chain = hash.map_or(0, |hash| probe.chain(hash, || self.found()));
        // If the table has no room for the chain, the walk is not kept, so that each attempt is counted.
        let latest = latest.filter(|_| chain != 0 || hash.is_none());
        if let Some(latest) = latest.filter(|walk| walk.is_repeated(&self.here, chain)) {
            self.keep(probe, latest, chain);
        }
        chain
    }

    /// Passes each record to `visit`, until `visit` returns false. True if the walk reaches the base.
    #[inline(always)]
    fn walk(&self, visit: impl FnMut(FrameRecord) -> bool) -> bool {
        // SAFETY: the creator of the search made sure that the stack is readable.
        unsafe { walk::walk(&self.here, self.stack(), self.limits.base, visit) }
    }

    #[cold]
    #[inline(never)]
    fn keep<const MAX_RECORDS: usize>(
        &self,
        probe: &Probe<Linux>,
        latest: &LatestWalk<MAX_RECORDS>,
        chain: u32,
    ) {
        let mut records: Vec<FrameRecord, MAX_RECORDS> = Vec::new();
        self.walk(|record| records.push(record).is_ok());
        latest.keep(&self.key(probe), &records, chain);
    }

    /// Walks the stack again to collect the addresses of the chain for the table.
    #[cold]
    #[inline(never)]
    fn found(self) -> Chain {
        let mut addresses = Addresses::new();
        let mut add = |address| addresses.len() < self.most && addresses.push(address).is_ok();
        add(self.here.pc as u64);
        let is_whole = self.walk(|record| add(record.returns_to as u64));
        Chain {
            site: self.site,
            is_whole,
            addresses,
        }
    }
}
