//! The poll of a traced future that goes on in a thread: how far up a chain of callers can be
//! followed, and which one was found.
//!
//! ```text
//!   Polling::begin ──> the future's own code ──> Waker::clone: Polled::note ──> Polling::end
//! ```
//! Words, and no reference: where a poll is left by a switch of stacks, and ends in another thread,
//! those of the first one are stale. They are compared, and are bounds within the thread's own stack.

use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::linux::stack::walk::Here;
use crate::platform::Local;
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
    /// [`OVER`] and [`VOID`].
    found: AtomicU64,
    /// Where the latest clone of a traced future's waker was called, see `future/entry.rs`.
    pub returns_to: AtomicUsize,
    /// What is known to be the thread's own stack, see `linux/stack.rs`.
    pub stack_low: AtomicUsize,
    pub stack_high: AtomicUsize,
    /// How often that was asked in vain.
    pub refused: AtomicUsize,
    /// Where its latest walks are kept, see `walks.rs`.
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

    /// Of several chains in one poll the first is kept: what is waited for comes before the timer
    /// that is to end that. True if the wait may be another one than those before.
    #[inline(always)]
    pub fn note(&self, chain: u32) -> bool {
        let chain = u64::from(chain);
        let found = self.found.load(Ordering::Relaxed);
        match found {
            0 => self.found.store(chain, Ordering::Relaxed),
            found if found == chain => {}
            over if over & OVER != 0 => self.found.store(chain, Ordering::Relaxed),
            _ if chain == 0 => {}
            found => {
                let first = found & u64::from(u32::MAX);
                self.found.store(chain << 32 | first, Ordering::Relaxed);
            }
        }
        found & OVER != 0
    }

    /// Nobody has a waker of the one that is polled here: whoever took one waits no more. Should one be
    /// taken still in this poll, then that is for a wait after all of those before; if none is, nothing is
    /// known of where it waits.
    #[cold]
    pub fn begin_anew(&self) {
        self.found.fetch_or(OVER | VOID, Ordering::Relaxed);
    }

    /// A waker was dropped that was there when a wait was announced in this poll. Should another one be
    /// taken, then that is most likely for the next wait.
    #[cold]
    pub fn outlives_a_waker(&self) {
        self.found.fetch_or(OVER, Ordering::Relaxed);
    }

    /// These are again what they were. Gives what was found meanwhile.
    #[inline(always)]
    fn put_back(&self, before: &Words) -> FoundChain {
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

    #[inline(always)]
    fn replace(&self, with: Words) -> Words {
        let swap = |word: &AtomicUsize, with| {
            let before = word.load(Ordering::Relaxed);
            word.store(with, Ordering::Relaxed);
            before
        };
        let found = self.found.load(Ordering::Relaxed);
        self.found.store(with.found, Ordering::Relaxed);
        Words {
            waker: swap(&self.waker, with.waker),
            top: swap(&self.top, with.top),
            base: swap(&self.base, with.base),
            found,
        }
    }
}

/// What was found is most likely of waits that are over, if the one that the poll ends in takes a waker
/// afterwards. Ids of chains are smaller.
const OVER: u64 = (chain::OVER as u64) << 32;

/// It is, also if it takes none.
const VOID: u64 = (chain::VOID as u64) << 32;

#[derive(Clone, Copy, Debug, Default)]
struct Words {
    waker: usize,
    top: usize,
    base: usize,
    found: u64,
}

/// A poll that goes on. What was polled around it goes on when it ends, also by a panic.
#[derive(Debug)]
pub(crate) struct Polling<L: Fn() -> &'static Local> {
    local: L,
    top: usize,
    before: Words,
}

impl<L: Fn() -> &'static Local> Polling<L> {
    /// The function at `here` polls one that is given this waker. `local` is asked again at the
    /// end: that may be in another thread.
    #[inline(always)]
    pub fn begin(local: L, waker: usize, here: &Here) -> Self {
        let before = local().polled.replace(Words {
            waker,
            top: here.sp,
            base: here.fp,
            found: 0,
        });
        Polling {
            local,
            top: here.sp,
            before,
        }
    }

    /// The chain that was found.
    #[inline(always)]
    pub fn end(self) -> FoundChain {
        ManuallyDrop::new(self).restore()
    }

    #[inline(always)]
    fn restore(&self) -> FoundChain {
        let polled = &(self.local)().polled;
        match polled.top.load(Ordering::Relaxed) == self.top {
            true => polled.put_back(&self.before),
            false => FoundChain::default(),
        }
    }
}

impl<L: Fn() -> &'static Local> Drop for Polling<L> {
    fn drop(&mut self) {
        self.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sp: usize) -> Here {
        Here { pc: 1, fp: 9, sp }
    }

    #[test]
    fn a_poll_within_a_poll_leaves_its_words_as_they_were() {
        static LOCAL: Local = Local::new();
        let outer = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.note(3);
        let inner = Polling::begin(|| &LOCAL, 8, &at(100));
        assert!(LOCAL.polled.limits(7).is_none());
        LOCAL.polled.note(4);
        assert_eq!(inner.end().chain, 4);
        assert_eq!(LOCAL.polled.limits(7).map(|it| it.top), Some(200));
        assert_eq!(outer.end().chain, 3);
        assert!(LOCAL.polled.limits(7).is_none());
    }

    #[test]
    fn a_waker_that_is_not_the_coroutines_own_is_another_futures() {
        static LOCAL: Local = Local::new();
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        assert!(LOCAL.polled.is_by_another(8));
        assert!(!LOCAL.polled.is_by_another(7));
        polling.end();
        assert!(!LOCAL.polled.is_by_another(8), "nobody is polled");
    }

    #[test]
    fn one_that_ends_in_another_thread_changes_nothing_there() {
        static LOCALS: [Local; 2] = [const { Local::new() }; 2];
        static NOW: AtomicUsize = AtomicUsize::new(0);
        let local = || &LOCALS[NOW.load(Ordering::Relaxed)];
        let moved = Polling::begin(local, 7, &at(200));
        NOW.store(1, Ordering::Relaxed);
        let other = Polling::begin(local, 8, &at(500));
        LOCALS[1].polled.note(5);
        assert_eq!(moved.end(), FoundChain::default());
        assert_eq!(other.end().chain, 5);
    }

    #[test]
    fn of_several_chains_the_first_is_kept_and_marked() {
        static LOCAL: Local = Local::new();
        let found = |chains: &[u32]| {
            let polling = Polling::begin(|| &LOCAL, 7, &at(200));
            for chain in chains {
                LOCAL.polled.note(*chain);
            }
            polling.end()
        };
        assert_eq!(found(&[0]), FoundChain::default());
        assert!(!found(&[6, 6, 0]).is_one_of_several());
        let of_three = found(&[6, 7, 6, 8]);
        assert_eq!((of_three.chain, of_three.is_one_of_several()), (6, true));
        assert_eq!(of_three.of_one_waker().chain, 8);
        assert!(!of_three.of_one_waker().is_one_of_several());
        assert_eq!(found(&[6, 7, 6]).of_one_waker().chain, 6);
        assert_eq!(found(&[6]).of_one_waker(), found(&[6]));
    }

    #[test]
    fn what_was_found_before_the_last_waker_was_dropped_is_void() {
        static LOCAL: Local = Local::new();
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.note(6);
        LOCAL.polled.begin_anew();
        let inner = Polling::begin(|| &LOCAL, 8, &at(100));
        assert!(!LOCAL.polled.note(5), "another poll");
        inner.end();
        assert!(LOCAL.polled.note(7));
        assert!(!LOCAL.polled.note(8));
        let found = polling.end();
        assert_eq!((found.chain, found.last), (7, 8));
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.note(6);
        LOCAL.polled.begin_anew();
        assert_eq!(
            polling.end().settled(),
            FoundChain::default(),
            "none was taken"
        );
    }

    #[test]
    fn what_was_found_before_one_of_the_wakers_was_dropped_gives_way_to_what_comes_after() {
        static LOCAL: Local = Local::new();
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.note(6);
        LOCAL.polled.outlives_a_waker();
        assert!(LOCAL.polled.note(7));
        assert!(!LOCAL.polled.note(7));
        let found = polling.end();
        assert_eq!((found.chain, found.is_one_of_several()), (7, false));
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.note(6);
        LOCAL.polled.outlives_a_waker();
        let found = polling.end().settled();
        assert_eq!((found.chain, found.last), (6, 0), "none was taken");
    }
}
