//! Records, in the memory of the thread, which traced future is being polled. A clone of its waker
//! during the poll then finds the chain of callers up to the poll, and the poll returns the chains
//! that were found.
//!
//! ```text
//!   Polling::begin ──> the future's code ──> Waker::clone: Polled::record_chain ──> Polling::end
//! ```
//! `platform/polled.rs` holds what the thread remembers of the poll.

use core::mem::ManuallyDrop;

use crate::linux::stack::walk::FramePosition;
use crate::platform::{Local, SavedPoll};
use crate::protocol::chain::FoundChain;

/// A poll in progress. Dropping this, even by a panic, restores what the thread held for the outer
/// poll, if there is one.
#[derive(Debug)]
pub(crate) struct Polling<L: Fn() -> &'static Local> {
    local: L,
    top: usize,
    before: SavedPoll,
}

impl<L: Fn() -> &'static Local> Polling<L> {
    /// Starts a poll by the function at `here`. `waker` is the address that identifies the waker of
    /// the poll. `local` returns the state of the current thread. It is called again when the poll
    /// ends, which may be in another thread.
    #[inline(always)]
    pub fn begin(local: L, waker: usize, here: &FramePosition) -> Self {
        let before = local().polled.replace(SavedPoll {
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

    /// Ends the poll. Returns the first and the last chain that were found during the poll.
    #[inline(always)]
    pub fn end(self) -> FoundChain {
        ManuallyDrop::new(self).restore()
    }

    /// Restores the outer poll. If the poll ends in another thread than it began, that thread's words
    /// belong to another poll and are left as they are.
    #[inline(always)]
    fn restore(&self) -> FoundChain {
        let polled = &(self.local)().polled;
        if polled.is_of(self.top) {
            polled.put_back(&self.before)
        } else {
            FoundChain::default()
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
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::platform::Recorded;

    fn at(sp: usize) -> FramePosition {
        FramePosition { pc: 1, fp: 9, sp }
    }

    #[test]
    fn inner_poll_restores_the_words_of_the_outer() {
        static LOCAL: Local = Local::new();
        let outer = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.record_chain(3);
        let inner = Polling::begin(|| &LOCAL, 8, &at(100));
        assert!(LOCAL.polled.limits(7).is_none());
        LOCAL.polled.record_chain(4);
        assert_eq!(inner.end().chain, 4);
        assert_eq!(LOCAL.polled.limits(7).map(|limits| limits.top), Some(200));
        assert_eq!(outer.end().chain, 3);
        assert!(LOCAL.polled.limits(7).is_none());
    }

    #[test]
    fn foreign_waker_belongs_to_an_inner_future() {
        static LOCAL: Local = Local::new();
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        assert!(LOCAL.polled.is_by_another(8));
        assert!(!LOCAL.polled.is_by_another(7));
        polling.end();
        assert!(!LOCAL.polled.is_by_another(8), "no poll in progress");
    }

    #[test]
    fn poll_that_ends_in_another_thread_changes_nothing() {
        static LOCALS: [Local; 2] = [const { Local::new() }; 2];
        static NOW: AtomicUsize = AtomicUsize::new(0);
        let local = || &LOCALS[NOW.load(Ordering::Relaxed)];
        let moved = Polling::begin(local, 7, &at(200));
        NOW.store(1, Ordering::Relaxed);
        let other = Polling::begin(local, 8, &at(500));
        LOCALS[1].polled.record_chain(5);
        assert_eq!(moved.end(), FoundChain::default());
        assert_eq!(other.end().chain, 5);
    }

    #[test]
    fn first_and_last_of_several_chains_are_kept() {
        static LOCAL: Local = Local::new();
        let found = |chains: &[u32]| {
            let polling = Polling::begin(|| &LOCAL, 7, &at(200));
            for chain in chains {
                LOCAL.polled.record_chain(*chain);
            }
            polling.end()
        };
        assert_eq!((found(&[0]).chain, found(&[0]).last), (0, 0));
        assert!(!found(&[6, 6, 0]).is_one_of_several());
        let of_three = found(&[6, 7, 6, 8]);
        assert_eq!((of_three.chain, of_three.last), (6, 8));
    }

    #[test]
    fn chains_before_the_last_drop_are_discarded() {
        static LOCAL: Local = Local::new();
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.record_chain(6);
        LOCAL.polled.all_wakers_dropped();
        let inner = Polling::begin(|| &LOCAL, 8, &at(100));
        assert_eq!(LOCAL.polled.record_chain(5), Recorded::Only, "another poll");
        inner.end();
        assert_eq!(LOCAL.polled.record_chain(7), Recorded::Superseding);
        assert_eq!(LOCAL.polled.record_chain(8), Recorded::After(7));
        let found = polling.end();
        assert_eq!((found.chain, found.last), (7, 8));
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.record_chain(6);
        LOCAL.polled.all_wakers_dropped();
        assert_eq!(polling.end().settled().chain, 0, "no waker was taken");
    }

    #[test]
    fn chain_before_a_drop_is_replaced_by_a_later_chain() {
        static LOCAL: Local = Local::new();
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.record_chain(6);
        LOCAL.polled.waker_dropped();
        assert_eq!(LOCAL.polled.record_chain(7), Recorded::Superseding);
        assert_eq!(LOCAL.polled.record_chain(7), Recorded::Only);
        let found = polling.end();
        assert_eq!((found.chain, found.is_one_of_several()), (7, false));
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.record_chain(6);
        LOCAL.polled.waker_dropped();
        let found = polling.end().settled();
        assert_eq!((found.chain, found.last), (6, 0), "no waker was taken");
    }

    #[test]
    fn drop_of_a_waker_makes_the_only_chain_open() {
        static LOCAL: Local = Local::new();
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.record_chain(6);
        LOCAL.polled.some_waker_dropped();
        let found = polling.end();
        assert!(found.is_only_before_a_drop() && found.settled().chain == 6);
        let polling = Polling::begin(|| &LOCAL, 7, &at(200));
        LOCAL.polled.record_chain(6);
        LOCAL.polled.some_waker_dropped();
        assert_eq!(LOCAL.polled.record_chain(7), Recorded::After(6));
        let found = polling.end();
        assert_eq!((found.chain, found.last), (6, 7));
    }
}
