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

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::Waker;

use super::callers;
use crate::event::announce;
use crate::linux;
use crate::linux::stack::walk::{self, Here};
use crate::platform::{Limits, Polled};
use crate::protocol::chain::FoundChain;
use crate::protocol::holders::Holders;

/// What the wakers of a future share, as long as any is left. Futures that are polled at the same time on
/// different processors, and woken, must not have it in one cache line, nor in two that are fetched
/// together: what all of them change comes first.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Wrapped {
    pub(super) holders: Holders,
    pub(super) inner: Waker,
    pub(super) trace: linux::Waker,
    /// Id of the site that a chain stands for.
    site: u32,
    /// The executor still gives this one.
    is_latest: AtomicBool,
    /// Each chain is wanted.
    pub(super) is_precise: bool,
    /// The only chain that was found in the latest poll that found any.
    waited: AtomicU32,
    /// The chain of the wait in which the latest poll ended, if it is known.
    waits: AtomicU32,
}

impl Wrapped {
    /// Around a waker that the executor gave. The future holds it.
    pub fn new(inner: Waker, trace: linux::Waker, site: u32, is_precise: bool) -> Self {
        Wrapped {
            holders: Holders::new(),
            inner,
            trace,
            site,
            is_latest: AtomicBool::new(true),
            is_precise,
            waited: AtomicU32::new(0),
            waits: AtomicU32::new(0),
        }
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
    pub fn tell_wake(&self) {
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
    pub fn doubt_announcement(&self) {
        if self.is_polled_here() {
            announce::doubt(linux::local());
        }
    }

    /// A clone is about to be dropped, and perhaps it is the last: then whoever waited by one waits no
    /// more, as an `.await` that is ready and took a waker all the same.
    #[inline]
    pub fn doubt_waits(&self) {
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
    pub fn note_chain(&self, polled: &Polled, limits: Limits, here: Here) {
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
    pub fn count_first(&self) {
        self.trace.count().add();
        self.holders.is_counted();
    }
}
