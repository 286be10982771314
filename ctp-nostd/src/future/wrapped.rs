//! Wakers of [`Traced`](crate::Traced) futures: each wraps the one that the executor gave, tells of
//! a wake before it passes it on, counts its clones, and finds who waits there.
//!
//! ```text
//!   executor's waker ──> Wrapped { inner, trace } ──> Context of the poll ──> leaf futures
//!                          ^ one for all polls, while    (lent: not counted)     clones, counted
//!                            the executor's stays                                (`holders.rs`)
//! ```
//! The one that a poll is given is lent by the future, so that a poll costs no count; it would be
//! no proof that anybody can wake the coroutine. Where the executor gives another waker, those of
//! before go on to wake what they woke before, and are not counted as wakes of this coroutine.
//!
//! A leaf future that still has a clone may keep it, if that wakes the same as the waker of the poll;
//! nothing is then known of where it is awaited. Where each chain is wanted, what is lent has a table
//! of functions of its own, and is so never taken for one of its clones ([`Waker::will_wake`]
//! promises nothing but that what it calls equal is): each leaf that is polled clones anew.
#![allow(
    unsafe_code,
    reason = "a waker is made of a pointer, which is followed"
)]

mod functions;

use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::Waker;
use heap::boxed::Box;

use crate::event::announce;
use crate::future::callers;
use crate::linux;
use crate::linux::stack::walk::{self, Here};
use crate::platform::{Limits, Polled};
use crate::protocol::chain::FoundChain;
use crate::protocol::holders::Holders;

pub(crate) use functions::clone;
use functions::{FUNCTIONS, FUNCTIONS_OF_LENT, let_go_unless_last};

/// What the wakers of a future share, as long as any is left. Futures that are polled at the same time on
/// different processors, and woken, must not have it in one cache line, nor in two that are fetched
/// together: what all of them change comes first.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Wrapped {
    holders: Holders,
    inner: Waker,
    trace: linux::Waker,
    /// Id of the site that a chain stands for.
    site: u32,
    /// The executor still gives this one.
    is_latest: AtomicBool,
    /// Each chain is wanted.
    is_precise: bool,
    /// The only chain that was found in the latest poll that found any.
    waited: AtomicU32,
    /// The chain of the wait in which the latest poll ended, if it is known.
    waits: AtomicU32,
}

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
        let wrapped = Wrapped {
            holders: Holders::new(),
            inner,
            trace,
            site,
            is_latest: AtomicBool::new(true),
            is_precise,
            waited: AtomicU32::new(0),
            waits: AtomicU32::new(0),
        };
        Held(NonNull::from(Box::leak(Box::new(wrapped))))
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

impl Wrapped {
    /// Does the executor still give the waker that this is around?
    #[inline(always)]
    pub fn is_around(&self, given: &Waker) -> bool {
        self.inner.will_wake(given) || is_lent_anew(&self.inner, given)
    }

    /// The executor gives another one from now on.
    pub fn retire(&self) {
        self.is_latest.store(false, Ordering::Relaxed);
    }

    /// The poll ends in which it was lent, and which found these chains. Gives which of them is that
    /// of the wait: where there was no wake and none was found, that of the wait before.
    #[inline]
    pub fn end_poll(&self, found: FoundChain, was_woken: bool) -> FoundChain {
        let (duty, are_several) = self.holders.end_poll();
        if are_several {
            announce::doubt(linux::local()); // what was announced may not be all
        }
        if duty.uncount {
            self.trace.count().subtract();
        }
        let found = match found.is_one_of_several() {
            true => self.judge(found.settled()),
            false if found.chain == 0 && !was_woken => self.waits_on(),
            false => self.remember(found),
        };
        self.waits.store(found.chain, Ordering::Relaxed);
        found
    }

    /// Who polls it does so for reasons of its own, and no leaf has taken a waker: the one that has the
    /// only clone waits on.
    #[cold]
    fn waits_on(&self) -> FoundChain {
        let chain = match self.holders.clones() {
            1 => self.waits.load(Ordering::Relaxed),
            _ => 0,
        };
        FoundChain { chain, last: 0 }
    }

    #[inline(always)]
    fn remember(&self, only: FoundChain) -> FoundChain {
        if only.chain != 0 {
            self.waited.store(only.chain, Ordering::Relaxed);
        }
        only
    }

    /// Which of several chains is that of the wait, if that is known.
    #[cold]
    #[inline(never)]
    fn judge(&self, found: FoundChain) -> FoundChain {
        if !found.is_one_of_several() {
            return self.remember(found);
        }
        let waited = self.waited.swap(0, Ordering::Relaxed);
        match self.is_precise && self.holders.clones() == 1 && self.trace.count().is_one() {
            true => found.of_one_waker(),
            false => found.behind(waited),
        }
    }

    /// The future is about to be woken, by who calls.
    #[inline(always)]
    fn tell_wake(&self) {
        let target = self.trace.target();
        let Some(target) = target.filter(|_| self.is_latest.load(Ordering::Relaxed)) else {
            return;
        };
        match self.trace.recording() {
            Some(probe) => {
                let site = callers::of_a_wake(probe, &linux::local().polled, walk::here());
                target.wake_from(probe, site);
            }
            None => target.wake_alone::<linux::Linux>(),
        }
    }

    /// A waker is dropped. In the poll that goes on it may be that of a leaf which has said what it
    /// waits for, and is dropped itself, as in a `select!` that another branch ends.
    #[inline]
    fn doubt_announcement(&self) {
        if self.is_polled_here() {
            announce::doubt(linux::local());
        }
    }

    /// A clone is about to be dropped, and perhaps it is the last: then whoever waited by one waits no
    /// more, as an `.await` that is ready and took a waker all the same.
    #[inline]
    fn doubt_waits(&self) {
        if !self.is_polled_here() {
            return;
        }
        let local = linux::local();
        announce::doubt(local);
        match self.holders.clones() {
            1 => {
                local.polled.begin_anew();
                announce::void(local);
            }
            clones if announce::outlives_one_of(local, clones) => local.polled.outlives_a_waker(),
            _ => {}
        }
    }

    /// Is it the poll of this one's future that goes on here?
    #[inline(always)]
    fn is_polled_here(&self) -> bool {
        let polled = &linux::local().polled;
        polled.limits(ptr::from_ref(self).addr()).is_some()
    }

    /// The poll with these limits takes this waker at the end of a chain of functions, the innermost of
    /// which is at `here`.
    #[inline(always)]
    fn note_chain(&self, polled: &Polled, limits: Limits, here: Here) {
        if let Some(probe) = self.trace.live_probe() {
            let chain = callers::of_a_clone(probe, polled, here, limits, self.site);
            if polled.note(chain) {
                announce::forget_void(linux::local());
            }
        }
    }

    /// Of this one no clone is counted.
    #[cold]
    #[inline(never)]
    fn count_first(&self) {
        self.trace.count().add();
        self.holders.is_counted();
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
    use core::sync::atomic::AtomicUsize;
    use heap::sync::Arc;
    use heap::task::Wake;

    use super::*;
    use crate::future::entry;
    use crate::future::polling::Polling;
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
