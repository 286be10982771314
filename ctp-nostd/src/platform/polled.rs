//! What a thread remembers of the traced future that is being polled, and of its own stack.
//!
//! These are words, not references. If a poll is left by a switch of stacks and ends in another
//! thread, the words of the first thread become stale. They are only compared, or used as bounds
//! within the thread's own stack.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::protocol::chain::{self, FoundChain, PollWakers};

/// What a thread remembers of the innermost poll of a traced future, and of its stack.
#[derive(Debug, Default)]
pub(crate) struct Polled {
    /// Address that identifies the waker given to the poll; 0 outside of a poll.
    waker: AtomicUsize,
    /// Stack and frame pointer of the polling function; everything that it calls lies below.
    top: AtomicUsize,
    base: AtomicUsize,
    /// The first chain that was found; in the upper half the last chain, if the poll found several.
    /// Carries [`WAKER_DROPPED`], [`LAST_WAKER_DROPPED`] and [`SOME_WAKER_DROPPED`], and
    /// [`WAKER_TAKEN`] instead of a chain if the chain of a taken waker is not known.
    found: AtomicU64,
    /// Return address of the latest clone of a traced future's waker, see
    /// `future/wakers/functions.rs`.
    pub returns_to: AtomicUsize,
    /// The known part of the thread's own stack, see `linux/stack.rs`.
    pub stack_low: AtomicUsize,
    pub stack_high: AtomicUsize,
    /// How many queries of the stack failed.
    pub refused: AtomicUsize,
    /// Where the thread's latest walks are kept, see `future/wakers/walks.rs`.
    pub walks: AtomicU64,
}

/// The end of the stack up to which callers can be followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub top: usize,
    pub base: usize,
}

impl Polled {
    pub const fn new() -> Self {
        Polled {
            waker: AtomicUsize::new(0),
            top: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            found: AtomicU64::new(0),
            returns_to: AtomicUsize::new(0),
            stack_low: AtomicUsize::new(0),
            stack_high: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            walks: AtomicU64::new(0),
        }
    }

    /// The limits, if the coroutine of this waker is being polled here.
    #[inline(always)]
    pub fn limits(&self, waker: usize) -> Option<Limits> {
        let is_of_resource = self.waker.load(Ordering::Relaxed) == waker;
        is_of_resource.then(|| Limits {
            top: self.top.load(Ordering::Relaxed),
            base: self.base.load(Ordering::Relaxed),
        })
    }

    /// The limits of the traced future that is being polled here, if any.
    #[inline(always)]
    pub fn innermost(&self) -> Option<Limits> {
        match self.waker.load(Ordering::Relaxed) {
            0 => None,
            waker => self.limits(waker),
        }
    }

    /// Whether this waker is not that of the innermost traced future: a future between the traced
    /// future and the leaf polls the leaf with a waker of its own. False if no traced future is
    /// polled here.
    #[inline]
    pub fn is_by_another(&self, waker: usize) -> bool {
        ![0, waker].contains(&self.waker.load(Ordering::Relaxed))
    }

    /// Whether the innermost poll is that of the function with this stack pointer.
    #[inline(always)]
    pub fn is_of(&self, top: usize) -> bool {
        self.top.load(Ordering::Relaxed) == top
    }

    /// Records a chain. Returns what it means for the earlier chains of this poll.
    #[inline(always)]
    pub fn record_chain(&self, chain: u32) -> Recorded {
        let chain = if chain == 0 {
            WAKER_TAKEN
        } else {
            chain.into()
        };
        let found = self.found.load(Ordering::Relaxed);
        match found {
            0 | WAKER_TAKEN => self.found.store(chain, Ordering::Relaxed),
            found if found == chain => {}
            over if over & WAKER_DROPPED != 0 => {
                self.found.store(chain, Ordering::Relaxed);
                return Recorded::Superseding;
            }
            _ if chain == WAKER_TAKEN => {}
            found => {
                let first = found as u32 & !(WAKER_TAKEN as u32);
                let both = chain << 32 | u64::from(first);
                let is_first = first == 0;
                let found = if is_first { chain } else { both };
                self.found.store(found, Ordering::Relaxed);
                if !is_first {
                    return Recorded::After(first);
                }
            }
        }
        Recorded::Only
    }

    /// Notes that all wakers of the polled future were dropped, so every earlier wait of this poll is
    /// over. A waker that is taken later in this poll belongs to a new wait. If none is taken, the
    /// wait is unknown.
    #[cold]
    pub fn all_wakers_dropped(&self) {
        self.found
            .fetch_or(WAKER_DROPPED | LAST_WAKER_DROPPED, Ordering::Relaxed);
    }

    /// Notes that a waker was dropped that existed when a wait was announced in this poll. A waker
    /// that is taken later most likely belongs to the next wait.
    #[cold]
    pub fn waker_dropped(&self) {
        self.found.fetch_or(WAKER_DROPPED, Ordering::Relaxed);
    }

    /// Notes that one of several wakers was dropped.
    #[inline]
    pub fn some_waker_dropped(&self) {
        self.found.fetch_or(SOME_WAKER_DROPPED, Ordering::Relaxed);
    }

    /// Restores the words of the outer poll. Returns what the inner poll found.
    #[inline(always)]
    pub fn put_back(&self, before: &SavedPoll) -> FoundChain {
        let found = self.found.load(Ordering::Relaxed);
        self.found.store(before.found, Ordering::Relaxed);
        self.waker.store(before.waker, Ordering::Relaxed);
        self.top.store(before.top, Ordering::Relaxed);
        self.base.store(before.base, Ordering::Relaxed);
        FoundChain {
            chain: (found & !WAKER_TAKEN) as u32,
            last: (found >> 32) as u32,
            wakers: wakers(found),
        }
    }

    /// Starts another poll, with these words. Returns the words of the outer poll.
    #[inline(always)]
    pub fn replace(&self, with: SavedPoll) -> SavedPoll {
        let swap = |word: &AtomicUsize, with| {
            let before = word.load(Ordering::Relaxed);
            word.store(with, Ordering::Relaxed);
            before
        };
        let found = self.found.load(Ordering::Relaxed);
        self.found.store(with.found, Ordering::Relaxed);
        SavedPoll {
            waker: swap(&self.waker, with.waker),
            top: swap(&self.top, with.top),
            base: swap(&self.base, with.base),
            found,
        }
    }
}

/// What a chain means for the earlier chains of its poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// The poll has no other chain.
    Only,
    /// The waits of the earlier chains may be over, and this chain belongs to another wait.
    Superseding,
    /// The poll has other chains, the first of which has this id.
    After(u32),
}

/// Set in `found`: the waits of the chains found so far are most likely over, if the final wait
/// takes a waker afterwards. Ids of chains are smaller.
const WAKER_DROPPED: u64 = (chain::WAKER_DROPPED as u64) << 32;

/// Set in `found`: those waits are over, even if no waker is taken afterwards.
const LAST_WAKER_DROPPED: u64 = (chain::LAST_WAKER_DROPPED as u64) << 32;

/// Set in `found`: one of several wakers was dropped since the latest clone.
const SOME_WAKER_DROPPED: u64 = (chain::SOME_WAKER_DROPPED as u64) << 32;

/// In `found`: a waker was taken, whose chain is not known. Ids of chains are smaller.
const WAKER_TAKEN: u64 = 1 << 29;

/// Whether a poll that found this took a waker, and did not drop all wakers afterwards.
#[inline(always)]
fn wakers(found: u64) -> PollWakers {
    if found as u32 == 0 || found & LAST_WAKER_DROPPED != 0 {
        PollWakers::Unregistered
    } else {
        PollWakers::Taken
    }
}

/// The words of a poll that is interrupted by an inner poll.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SavedPoll {
    pub waker: usize,
    pub top: usize,
    pub base: usize,
    pub found: u64,
}
