//! The hold that a traced future has on what its wakers share.
#![allow(
    unsafe_code,
    reason = "a waker is made of a pointer, which is followed"
)]

use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::task::Waker;
use heap::boxed::Box;

use super::functions::{FUNCTIONS, FUNCTIONS_OF_LENT, let_go_unless_last};
use super::wrapped::Wrapped;
use crate::linux;
use crate::protocol::holders::Holders;

/// The future's own hold on that.
#[derive(Debug)]
pub(crate) struct Held(NonNull<Wrapped>);

// SAFETY: it gives away references only, and any thread may have one, and be the last to let go.
unsafe impl Send for Held where Wrapped: Send + Sync {}
// SAFETY: as above.
unsafe impl Sync for Held where Wrapped: Send + Sync {}

impl Held {
    /// Around a waker that the executor gave, of who waits at a site with this id where no chain is
    /// found.
    pub fn new(inner: Waker, trace: linux::Waker, site: u32, is_precise: bool) -> Self {
        let wrapped = Wrapped::new(inner, trace, site, is_precise);
        Held(NonNull::from(Box::leak(Box::new(wrapped))))
    }

    /// Does the executor still give the waker that this is around?
    #[inline(always)]
    pub fn is_around(&self, given: &Waker) -> bool {
        self.inner.will_wake(given) || is_lent_anew(&self.inner, given)
    }

    /// For as long as this is borrowed.
    pub fn lend(&self) -> ManuallyDrop<Waker> {
        let functions = match self.is_precise {
            true => &FUNCTIONS_OF_LENT,
            false => &FUNCTIONS,
        };
        // SAFETY: the functions take a pointer to what somebody holds. What is lent is never dropped,
        // so that it takes away no count, and the borrow outlives it.
        ManuallyDrop::new(unsafe { Waker::new(self.0.as_ptr().cast_const().cast(), functions) })
    }
}

impl Deref for Held {
    type Target = Wrapped;

    fn deref(&self) -> &Wrapped {
        // SAFETY: it lives as long as anybody holds it, as this does.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: it is what this holds.
        unsafe { let_go_unless_last(self.0.as_ptr(), Holders::let_go) };
    }
}

/// How many clones there are of this waker, 0 if it is none of these.
#[inline]
pub(crate) fn clones(waker: &Waker) -> usize {
    let is_of = |functions| ptr::eq(waker.vtable(), functions);
    if !is_of(&FUNCTIONS) && !is_of(&FUNCTIONS_OF_LENT) {
        return 0;
    }
    // SAFETY: with these functions it points to what somebody holds, and the waker is borrowed.
    let wrapped: &Wrapped = unsafe { &*waker.data().cast() };
    wrapped.holders.clones()
}

/// A traced future around this one lends once more what this one has cloned, and takes a clone as from
/// any other leaf, so that it knows where it awaits this one.
#[cold]
#[inline(never)]
fn is_lent_anew(cloned: &Waker, lent: &Waker) -> bool {
    let is_lent = ptr::eq(lent.vtable(), &FUNCTIONS_OF_LENT);
    let is_anew = is_lent && ptr::eq(cloned.vtable(), &FUNCTIONS) && lent.data() == cloned.data();
    if is_anew {
        drop(lent.clone());
    }
    is_anew
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use heap::sync::Arc;
    use heap::task::Wake;

    use super::*;
    use crate::event::announce;
    use crate::future::wakers::functions::entry;
    use crate::future::wakers::polling::Polling;
    use crate::linux::stack::walk;
    use crate::protocol::chain::FoundChain;
    use crate::protocol::intern::site::SiteWord;
    use crate::protocol::wait::Wait;

    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wrapped(bell: &Arc<Bell>, is_precise: bool) -> Held {
        Held::new(bell.clone().into(), linux::Waker::mute(), 0, is_precise)
    }

    /// A leaf future, at each of so many polls, sees to it that it has a waker that wakes the same.
    fn clones_of_a_leaf(wrapped: &Held, polls: usize) -> (usize, Option<Waker>) {
        let (mut clones, mut kept) = (0, None::<Waker>);
        for _ in 0..polls {
            let lent = wrapped.lend();
            if !kept.as_ref().is_some_and(|it| it.will_wake(&lent)) {
                kept = Some(Waker::clone(&lent));
                clones += 1;
            }
            assert_eq!(wrapped.holders.clones(), 1, "the old one is dropped");
        }
        (clones, kept)
    }

    #[test]
    fn a_leaf_keeps_its_waker_unless_each_chain_is_wanted() {
        let bell = Arc::default();
        assert_eq!(clones_of_a_leaf(&wrapped(&bell, false), 5).0, 1);
        assert_eq!(clones_of_a_leaf(&wrapped(&bell, true), 5).0, 5);
        assert_eq!(Arc::strong_count(&bell), 1);
    }

    /// Nothing but a call, so that it returns to a few bytes behind where this is.
    #[inline(never)]
    fn clone_here(lent: &Waker) -> (usize, Waker) {
        let here = walk::here().pc;
        // SAFETY: its data is that of a `Wrapped` which is held.
        let clone = unsafe { Waker::from_raw(entry::clone(lent.data())) };
        (here, clone)
    }

    // CT-13
    #[test]
    fn who_clones_is_known_by_where_the_call_returns_to() {
        let wrapped = wrapped(&Arc::default(), false);
        let (here, clone) = clone_here(&wrapped.lend());
        let returns_to = linux::local().polled.returns_to.load(Ordering::Relaxed);
        assert!(
            (here..here + 128).contains(&returns_to),
            "{here:x} {returns_to:x}"
        );
        assert!(clone.will_wake(&wrapped.lend()));
    }

    #[test]
    fn what_a_leaf_announced_is_in_doubt_once_a_waker_is_dropped_in_that_poll() {
        let wrapped = wrapped(&Arc::default(), false);
        let lent = wrapped.lend();
        let local = linux::local();
        let announced = || {
            let polling = Polling::begin(linux::local, lent.data().addr(), &walk::here());
            let leaf = Waker::clone(&lent);
            announce::note(local, SiteWord::default(), &Wait::lock(7));
            (polling, leaf)
        };
        let noted = || (local.noted_kind.swap(0, Ordering::Relaxed) - 1) as u8;
        let (polling, leaf) = announced();
        drop(leaf);
        polling.end();
        assert_eq!(noted(), Wait::lock(7).one_of_several().code());
        let (polling, leaf) = announced();
        polling.end();
        drop(leaf);
        assert_eq!(noted(), Wait::lock(7).code(), "that poll is over");
    }

    #[test]
    fn a_leaf_that_takes_its_waker_anew_drops_none_that_was_there_when_another_announced() {
        let wrapped = wrapped(&Arc::default(), false);
        let lent = wrapped.lend();
        let local = linux::local();
        let polling = Polling::begin(linux::local, lent.data().addr(), &walk::here());
        let [told, kept] = [0; 2].map(|_| Waker::clone(&lent));
        announce::note(local, SiteWord::default(), &Wait::lock(7));
        announce::beside_clones(local, clones(&lent));
        assert_eq!(clones(&lent), 2);
        let anew = Waker::clone(&lent);
        drop(kept);
        assert!(!local.polled.note(6), "there are as many");
        drop(told);
        assert!(local.polled.note(7));
        polling.end();
        local.noted_kind.store(0, Ordering::Relaxed);
        assert_eq!((clones(&anew), clones(Waker::noop())), (1, 0));
    }

    #[test]
    fn of_several_chains_that_by_which_it_waited_alone_is_most_likely_over() {
        let wrapped = wrapped(&Arc::default(), false);
        let end = |chain, last| {
            let found = wrapped.end_poll(FoundChain { chain, last }, true);
            (found.chain, found.is_one_of_several())
        };
        assert_eq!(end(5, 6), (5, true), "the first wait");
        assert_eq!([end(7, 0), end(0, 0)], [(7, false), (0, false)]);
        assert_eq!(end(7, 8), (8, true));
        assert_eq!(end(7, 8), (7, true), "both, for all that is known");
    }

    // CT-13
    #[test]
    fn a_poll_that_nobody_asked_for_leaves_the_wait_where_it_was() {
        let wrapped = wrapped(&Arc::default(), false);
        let end = |chain, was_woken| {
            wrapped
                .end_poll(FoundChain { chain, last: 0 }, was_woken)
                .chain
        };
        let lent = wrapped.lend();
        let kept = Waker::clone(&lent);
        assert_eq!([end(5, true), end(0, false), end(0, false)], [5, 5, 5]);
        let woken = [end(0, true), end(0, false)];
        assert_eq!(woken, [0, 0], "what was woken may wait for another thing");
        end(5, true);
        let another = Waker::clone(&lent);
        assert_eq!(end(0, false), 0, "either may be that of the wait");
        drop((kept, another));
        assert_eq!(end(0, false), 0, "and where there is none");
    }

    #[test]
    fn one_that_is_polled_inside_of_another_knows_its_clone() {
        let bell = Arc::default();
        let [one, other] = [0; 2].map(|_| wrapped(&bell, true));
        let [cloned, another] = [&one, &other].map(|it| Waker::clone(&it.lend()));
        assert!(is_lent_anew(&cloned, &one.lend()));
        assert!(!is_lent_anew(&another, &one.lend()));
        assert!(!is_lent_anew(&cloned, &another));
        assert_eq!(one.holders.clones(), 1);
    }

    #[test]
    fn clones_wake_the_same_and_say_so_of_each_other() {
        let bell: Arc<Bell> = Arc::default();
        let wrapped = wrapped(&bell, true);
        let [one, other] = [0; 2].map(|_| Waker::clone(&wrapped.lend()));
        assert!(one.will_wake(&other) && one.clone().will_wake(&one));
        wrapped.lend().wake_by_ref();
        drop(wrapped);
        one.wake();
        other.wake_by_ref();
        assert_eq!(bell.0.load(Ordering::Relaxed), 3);
        drop(other);
        assert_eq!(Arc::strong_count(&bell), 1);
    }
}
