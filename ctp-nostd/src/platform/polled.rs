//! What a thread remembers of the traced future that is polled there, and of its stack.
//!
//! Words, and no reference: where a poll is left by a switch of stacks, and ends in another thread,
//! those of the first one are stale. They are compared, and are bounds within the thread's own stack.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::protocol::chain::{self, FoundChain};

/// What a thread remembers of the innermost such poll, and of its stack.
#[derive(Debug, Default)]
pub(crate) struct Polled {
    /// Whose waker it was given; 0 outside of a poll.
    waker: AtomicUsize,
    /// Stack and frame pointer of the function that polls: what it calls lies below.
    top: AtomicUsize,
    base: AtomicUsize,
    /// The first chain that was found; in the upper half the last one, if others were found too. With
    /// [`WAKER_DROPPED`] and [`LAST_WAKER_DROPPED`].
    found: AtomicU64,
    /// Where the latest clone of a traced future's waker was called, see `future/wakers/functions.rs`.
    pub returns_to: AtomicUsize,
    /// What is known to be the thread's own stack, see `linux/stack.rs`.
    pub stack_low: AtomicUsize,
    pub stack_high: AtomicUsize,
    /// How often that was asked in vain.
    pub refused: AtomicUsize,
    /// Where its latest walks are kept, see `future/wakers/walks.rs`.
    pub walks: AtomicU64,
}

/// Up to where callers can be followed.
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

    /// If it is this waker's coroutine that is polled here.
    #[inline(always)]
    pub fn limits(&self, waker: usize) -> Option<Limits> {
        let is_of_it = self.waker.load(Ordering::Relaxed) == waker;
        is_of_it.then(|| Limits {
            top: self.top.load(Ordering::Relaxed),
            base: self.base.load(Ordering::Relaxed),
        })
    }

    /// Of the traced future that is polled here, if one is.
    #[inline(always)]
    pub fn innermost(&self) -> Option<Limits> {
        match self.waker.load(Ordering::Relaxed) {
            0 => None,
            waker => self.limits(waker),
        }
    }

    /// Whether one that is polled with this waker is polled by a future within the traced one, which
    /// wakes it by wakers of its own. Not if no traced one is polled here.
    #[inline]
    pub fn is_by_another(&self, waker: usize) -> bool {
        ![0, waker].contains(&self.waker.load(Ordering::Relaxed))
    }

    /// Whether the innermost poll is that of the function with this stack pointer.
    #[inline(always)]
    pub fn is_of(&self, top: usize) -> bool {
        self.top.load(Ordering::Relaxed) == top
    }

    /// Of several chains in one poll the first is kept: what is waited for comes before the timer
    /// that is to end that. True if the wait may be another one than those before.
    #[inline(always)]
    pub fn note(&self, chain: u32) -> bool {
        let chain = u64::from(chain);
        let found = self.found.load(Ordering::Relaxed);
        match found {
            0 => self.found.store(chain, Ordering::Relaxed),
            found if found == chain => {}
            over if over & WAKER_DROPPED != 0 => self.found.store(chain, Ordering::Relaxed),
            _ if chain == 0 => {}
            found => {
                let first = found & u64::from(u32::MAX);
                self.found.store(chain << 32 | first, Ordering::Relaxed);
            }
        }
        found & WAKER_DROPPED != 0
    }

    /// Nobody has a waker of the one that is polled here: whoever took one waits no more. Should one be
    /// taken still in this poll, then that is for a wait after all of those before; if none is, nothing is
    /// known of where it waits.
    #[cold]
    pub fn begin_anew(&self) {
        self.found
            .fetch_or(WAKER_DROPPED | LAST_WAKER_DROPPED, Ordering::Relaxed);
    }

    /// A waker was dropped that was there when a wait was announced in this poll. Should another one be
    /// taken, then that is most likely for the next wait.
    #[cold]
    pub fn outlives_a_waker(&self) {
        self.found.fetch_or(WAKER_DROPPED, Ordering::Relaxed);
    }

    /// The words are again what they were. Gives what was found meanwhile.
    #[inline(always)]
    pub fn put_back(&self, before: &SavedPoll) -> FoundChain {
        let found = self.found.load(Ordering::Relaxed);
        self.found.store(before.found, Ordering::Relaxed);
        self.waker.store(before.waker, Ordering::Relaxed);
        self.top.store(before.top, Ordering::Relaxed);
        self.base.store(before.base, Ordering::Relaxed);
        FoundChain {
            chain: found as u32,
            last: (found >> 32) as u32,
        }
    }

    /// Another poll begins, with these words. Gives those of the poll around it.
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

/// What was found is most likely of waits that are over, if the one that the poll ends in takes a waker
/// afterwards. Ids of chains are smaller.
const WAKER_DROPPED: u64 = (chain::WAKER_DROPPED as u64) << 32;

/// It is, also if it takes none.
const LAST_WAKER_DROPPED: u64 = (chain::LAST_WAKER_DROPPED as u64) << 32;

/// The words of a poll, while another poll goes on inside of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SavedPoll {
    pub waker: usize,
    pub top: usize,
    pub base: usize,
    pub found: u64,
}
