//! A traced future's reference to the data that its wakers share.
#![allow(
    unsafe_code,
    reason = "a waker is made of a pointer, which is followed"
)]

use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::task::Waker;
use heap::boxed::Box;

use super::functions::{BORROWED_VTABLE, CLONE_VTABLE, has_clone_vtable, release_by};
use super::wrapped::Wrapped;
use crate::linux;
use crate::protocol::holders::Holders;

/// The future's hold on the data that its wakers share.
#[derive(Debug)]
pub(crate) struct WrappedRef(NonNull<Wrapped>);

// SAFETY: it gives out only references, which any thread may use, and any thread may be the last
// holder.
unsafe impl Send for WrappedRef where Wrapped: Send + Sync {}
// SAFETY: as for `Send`.
unsafe impl Sync for WrappedRef where Wrapped: Send + Sync {}

impl WrappedRef {
    /// Wraps a waker of the executor. `site` is the id of the site of a wait where no chain is
    /// found.
    pub fn new(inner: Waker, trace: linux::Waker, site: u32, is_precise: bool) -> Self {
        let wrapped = Wrapped::new(inner, trace, site, is_precise);
        WrappedRef(NonNull::from(Box::leak(Box::new(wrapped))))
    }

    /// Whether the executor still gives the waker that this wraps.
    #[inline(always)]
    pub fn is_around(&self, given: &Waker) -> bool {
        self.inner.will_wake(given) || is_borrowed_again(&self.inner, given)
    }

    /// Begins a poll. Returns the waker of the poll, valid while `self` is borrowed, and whether the
    /// poll is precise.
    #[inline(always)]
    pub fn begin_poll(&self) -> (ManuallyDrop<Waker>, bool) {
        let is_precise = self.branches.is_precise();
        if is_precise {
            self.branches.begin_poll();
        }
        (self.borrow_waker(is_precise), is_precise)
    }

    fn borrow_waker(&self, is_precise: bool) -> ManuallyDrop<Waker> {
        let functions = if is_precise {
            &BORROWED_VTABLE
        } else {
            &CLONE_VTABLE
        };
        // SAFETY: the functions take a pointer to data that has a holder. The borrowed waker is never
        // dropped, so it takes away no count, and the borrow outlives it.
        ManuallyDrop::new(unsafe { Waker::new(self.0.as_ptr().cast_const().cast(), functions) })
    }
}

impl Deref for WrappedRef {
    type Target = Wrapped;

    fn deref(&self) -> &Wrapped {
        // SAFETY: the data lives as long as it has a holder, such as this.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for WrappedRef {
    fn drop(&mut self) {
        // SAFETY: this value has a hold, and gives it up.
        unsafe { release_by(self.0.as_ptr(), Holders::release) };
    }
}

/// How many clones of this waker exist; 0 for any other waker.
#[inline]
pub(crate) fn clones(waker: &Waker) -> usize {
    if !has_clone_vtable(waker.vtable()) && !ptr::eq(waker.vtable(), &BORROWED_VTABLE) {
        return 0;
    }
    // SAFETY: with these functions the data has a holder, and the waker is borrowed.
    let wrapped: &Wrapped = unsafe { &*waker.data().cast() };
    wrapped.holders.clones()
}

/// Whether an outer traced future lends the waker again that this future has cloned. If so, the
/// waker is cloned as by any other leaf, so that the outer future knows where it awaits this
/// future.
#[cold]
#[inline(never)]
fn is_borrowed_again(cloned: &Waker, borrowed: &Waker) -> bool {
    let is_borrowed = ptr::eq(borrowed.vtable(), &BORROWED_VTABLE);
    let is_again =
        is_borrowed && has_clone_vtable(cloned.vtable()) && borrowed.data() == cloned.data();
    if is_again {
        drop(borrowed.clone());
        // SAFETY: with these functions the data has a holder, and the waker is borrowed.
        let wrapped: &Wrapped = unsafe { &*borrowed.data().cast() };
        wrapped.branches.keep_last();
    }
    is_again
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use heap::sync::Arc;
    use heap::task::Wake;

    use super::*;
    use crate::event::announce;
    use crate::future::wakers::functions::clone_entry;
    use crate::future::wakers::polling::Polling;
    use crate::linux::stack::walk;
    use crate::platform::Recorded;
    use crate::protocol::chain::{FoundChain, PollWakers, SOME_WAKER_DROPPED};
    use crate::protocol::intern::site::SiteWord;
    use crate::protocol::wait::Wait;

    #[derive(Default)]
    struct CountingWake(AtomicUsize);

    impl Wake for CountingWake {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wrapped(counter: &Arc<CountingWake>, is_precise: bool) -> WrappedRef {
        WrappedRef::new(counter.clone().into(), linux::Waker::mute(), 0, is_precise)
    }

    /// At each poll, a leaf future makes sure that it has a waker which wakes the same task.
    fn clones_of_a_leaf(wrapped: &WrappedRef, polls: usize) -> (usize, Option<Waker>) {
        let (mut clones, mut kept) = (0, None::<Waker>);
        for _ in 0..polls {
            let (borrowed, _) = wrapped.begin_poll();
            if !kept
                .as_ref()
                .is_some_and(|waker| waker.will_wake(&borrowed))
            {
                kept = Some(Waker::clone(&borrowed));
                clones += 1;
            }
            assert_eq!(wrapped.holders.clones(), 1, "the old clone is dropped");
        }
        (clones, kept)
    }

    #[test]
    fn leaf_clones_again_only_with_precise_chains() {
        let counter = Arc::default();
        assert_eq!(clones_of_a_leaf(&wrapped(&counter, false), 5).0, 1);
        assert_eq!(clones_of_a_leaf(&wrapped(&counter, true), 5).0, 5);
        assert_eq!(Arc::strong_count(&counter), 1);
    }

    /// Only a call, so that it returns to a few bytes behind this function's own address.
    #[inline(never)]
    fn clone_here(borrowed: &Waker) -> (usize, Waker) {
        let here = walk::here().pc;
        // SAFETY: the data is that of a `Wrapped` with a holder.
        let clone = unsafe { Waker::from_raw(clone_entry::clone(borrowed.data())) };
        (here, clone)
    }

    // CT-13
    #[test]
    fn return_address_identifies_the_cloning_leaf() {
        let wrapped = wrapped(&Arc::default(), false);
        let (here, clone) = clone_here(&wrapped.begin_poll().0);
        let returns_to = linux::local().polled.returns_to.load(Ordering::Relaxed);
        assert!(
            (here..here + 128).contains(&returns_to),
            "{here:x} {returns_to:x}"
        );
        assert!(clone.will_wake(&wrapped.begin_poll().0));
    }

    #[test]
    fn dropped_waker_makes_the_announcement_uncertain() {
        let wrapped = wrapped(&Arc::default(), false);
        let borrowed = wrapped.begin_poll().0;
        let local = linux::local();
        let announce_wait = || {
            let polling = Polling::begin(linux::local, borrowed.data().addr(), &walk::here());
            let leaf = Waker::clone(&borrowed);
            announce::announce(local, SiteWord::default(), &Wait::lock(7));
            (polling, leaf)
        };
        let announced_code = || (local.announced_code.swap(0, Ordering::Relaxed) - 1) as u8;
        let (polling, leaf) = announce_wait();
        drop(leaf);
        polling.end();
        assert_eq!(announced_code(), Wait::lock(7).one_of_several().code());
        let (polling, leaf) = announce_wait();
        polling.end();
        drop(leaf);
        assert_eq!(
            announced_code(),
            Wait::lock(7).code(),
            "after the end of that poll"
        );
    }

    #[test]
    fn replaced_waker_does_not_count_as_dropped() {
        let wrapped = wrapped(&Arc::default(), false);
        let borrowed = wrapped.begin_poll().0;
        let local = linux::local();
        let polling = Polling::begin(linux::local, borrowed.data().addr(), &walk::here());
        let [visit, kept] = [0; 2].map(|_| Waker::clone(&borrowed));
        announce::announce(local, SiteWord::default(), &Wait::lock(7));
        announce::set_waker_count(local, clones(&borrowed));
        assert_eq!(clones(&borrowed), 2);
        let replacement = Waker::clone(&borrowed);
        drop(kept);
        let recorded = local.polled.record_chain(6);
        assert_eq!(recorded, Recorded::Only, "as many wakers as before");
        drop(visit);
        assert_eq!(local.polled.record_chain(7), Recorded::Superseding);
        polling.end();
        local.announced_code.store(0, Ordering::Relaxed);
        assert_eq!((clones(&replacement), clones(Waker::noop())), (1, 0));
    }

    fn found(chain: u32, last: u32) -> FoundChain {
        FoundChain {
            chain,
            last,
            ..FoundChain::default()
        }
    }

    // CT-13
    #[test]
    fn unclear_poll_makes_the_next_poll_precise() {
        let wrapped = wrapped(&Arc::default(), false);
        let kept = Waker::clone(&wrapped.begin_poll().0);
        let end = |chain, last| {
            let ended = wrapped.end_poll(found(chain, last), false, true);
            (ended.chain, ended.is_one_of_several)
        };
        assert_eq!(end(5, 0), (5, false));
        assert_eq!(end(6, SOME_WAKER_DROPPED), (6, true), "5 or 6");
        assert_eq!(end(5, 0), (5, false));
        assert_eq!(end(5, SOME_WAKER_DROPPED), (5, false), "a new waker for 5");
        drop(kept);
    }

    // CT-13
    #[test]
    fn poll_without_wake_keeps_the_chain_of_the_wait() {
        let wrapped = wrapped(&Arc::default(), false);
        let end = |chain, was_woken| wrapped.end_poll(found(chain, 0), false, was_woken).chain;
        let borrowed = wrapped.begin_poll().0;
        let kept = Waker::clone(&borrowed);
        assert_eq!([end(5, true), end(0, false), end(0, false)], [5, 5, 5]);
        let woken = [end(0, true), end(0, false)];
        assert_eq!(woken, [0, 0], "a woken leaf may wait for something else");
        end(5, true);
        let another = Waker::clone(&borrowed);
        assert_eq!(end(0, false), 0, "either clone may belong to the wait");
        drop((kept, another));
        assert_eq!(end(0, false), 0, "also without a clone");
    }

    // CT-15
    #[test]
    fn poll_states_which_wakers_remain() {
        let wrapped = wrapped(&Arc::default(), false);
        let borrowed = wrapped.begin_poll().0;
        let after = |poll: &dyn Fn() -> Option<Waker>| {
            let polling = Polling::begin(linux::local, borrowed.data().addr(), &walk::here());
            let kept = poll();
            (wrapped.end_poll(polling.end(), false, true).wakers, kept)
        };
        let take = || {
            linux::local().polled.record_chain(0); // as a clone does in a recorded program
            Some(Waker::clone(&borrowed))
        };
        assert_eq!(after(&|| None).0, PollWakers::Unregistered);
        let (wakers, kept) = after(&take);
        assert_eq!(wakers, PollWakers::Taken);
        assert_eq!(after(&|| None).0, PollWakers::Earlier);
        drop(kept);
        assert_eq!(after(&|| None).0, PollWakers::Unregistered);
        let dropped = after(&|| {
            drop(take());
            None
        });
        assert_eq!(dropped.0, PollWakers::Unregistered);
    }

    #[test]
    fn outer_future_recognizes_the_borrowed_waker() {
        let counter = Arc::default();
        let [outer, inner] = [0; 2].map(|_| wrapped(&counter, true));
        let [cloned, another] =
            [&outer, &inner].map(|wrapped| Waker::clone(&wrapped.begin_poll().0));
        assert!(is_borrowed_again(&cloned, &outer.begin_poll().0));
        assert!(!is_borrowed_again(&another, &outer.begin_poll().0));
        assert!(!is_borrowed_again(&cloned, &another));
        assert_eq!(outer.holders.clones(), 1);
    }

    #[test]
    fn clones_wake_the_same_task_and_compare_equal() {
        let counter: Arc<CountingWake> = Arc::default();
        let wrapped = wrapped(&counter, true);
        let [first, second] = [0; 2].map(|_| Waker::clone(&wrapped.begin_poll().0));
        assert!(first.will_wake(&second) && first.clone().will_wake(&first));
        wrapped.begin_poll().0.wake_by_ref();
        drop(wrapped);
        first.wake();
        second.wake_by_ref();
        assert_eq!(counter.0.load(Ordering::Relaxed), 3);
        drop(second);
        assert_eq!(Arc::strong_count(&counter), 1);
    }
}
