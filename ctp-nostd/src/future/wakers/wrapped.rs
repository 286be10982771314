//! Wakers of [`Traced`](crate::Traced) futures. Each wraps the waker that the executor gave,
//! records a wake before passing it on, counts its clones, and finds the chain that waits there.
//!
//! ```text
//!   executor's waker ──> Wrapped { inner, trace } ──> Context of the poll ──> leaf futures
//!                          ^ one for all polls, while    (borrowed: not counted)     clones, counted
//!                            the executor's stays                                (`holders.rs`)
//! ```
//! The future lends the waker of a poll, so that a poll changes no count. A borrowed waker does not
//! prove that the coroutine can be woken. If the executor gives another waker, the earlier ones
//! continue to wake what they woke before, and no longer count as wakers of this coroutine.
//!
//! A leaf future may keep its clone if it wakes the same task as the waker of the poll; then
//! nothing is known about where the leaf is awaited. With precise chains, the borrowed waker has a
//! table of functions of its own, so it never equals its clones ([`Waker::will_wake`] only promises
//! that wakers it calls equal wake the same task). Each leaf that is polled then clones again.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::Waker;

use super::callers;
use crate::event::announce;
use crate::linux;
use crate::linux::stack::walk::{self, Position};
use crate::platform::{Limits, Polled};
use crate::protocol::chain::{FoundChain, PollWakers};
use crate::protocol::holders::Holders;

/// The data that the wakers of a future share, as long as any is left. Futures that are polled and
/// woken at the same time on different processors must not share a cache line, nor two lines that
/// are fetched together. The fields that all of them change come first.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Wrapped {
    pub(super) holders: Holders,
    pub(super) inner: Waker,
    pub(super) trace: linux::Waker,
    /// Id of the site that a chain replaces.
    site: u32,
    /// The executor still gives this waker.
    is_latest: AtomicBool,
    /// Each leaf should clone in each poll, so that each chain is found.
    pub(super) is_precise: bool,
    /// The only chain found by the latest poll that found any.
    last_single_chain: AtomicU32,
    /// The chain of the wait in which the latest poll ended, if known.
    waits: AtomicU32,
}

impl Wrapped {
    /// Wraps a waker that the executor gave. The future is the first holder.
    pub fn new(inner: Waker, trace: linux::Waker, site: u32, is_precise: bool) -> Self {
        Wrapped {
            holders: Holders::new(),
            inner,
            trace,
            site,
            is_latest: AtomicBool::new(true),
            is_precise,
            last_single_chain: AtomicU32::new(0),
            waits: AtomicU32::new(0),
        }
    }

    /// The executor gives another waker from now on.
    pub fn retire(&self) {
        self.is_latest.store(false, Ordering::Relaxed);
    }

    /// Ends the poll to which the waker was borrowed, and which found these chains. Returns the chain
    /// of the wait. Without a wake and without a new chain, that is the chain of the previous wait.
    #[inline]
    pub fn end_poll(&self, found: FoundChain, was_woken: bool) -> FoundChain {
        let (follow_up, are_several) = self.holders.end_poll();
        if are_several {
            announce::mark_uncertain(linux::local()); // the announcement may not cover all waits
        }
        if follow_up.uncount {
            self.trace.count().subtract();
        }
        let wakers = self.wakers_after(found.wakers);
        let found = match found.is_one_of_several() {
            true => self.choose_chain(found.settled()),
            false if found.chain == 0 && !was_woken => self.previous_chain(),
            false => self.remember(found),
        };
        self.waits.store(found.chain, Ordering::Relaxed);
        FoundChain { wakers, ..found }
    }

    /// The wakers with which a poll leaves the future, if the poll itself left these.
    #[inline(always)]
    fn wakers_after(&self, of_poll: PollWakers) -> PollWakers {
        if of_poll == PollWakers::Unregistered && self.holders.clones() != 0 {
            PollWakers::Earlier
        } else {
            of_poll
        }
    }

    /// The executor polls for reasons of its own, and no leaf has taken a waker: the leaf with the
    /// only clone still waits.
    #[cold]
    fn previous_chain(&self) -> FoundChain {
        let chain = match self.holders.clones() {
            1 => self.waits.load(Ordering::Relaxed),
            _ => 0,
        };
        FoundChain {
            chain,
            ..FoundChain::default()
        }
    }

    #[inline(always)]
    fn remember(&self, only: FoundChain) -> FoundChain {
        if only.chain != 0 {
            self.last_single_chain.store(only.chain, Ordering::Relaxed);
        }
        only
    }

    /// Chooses the chain of the wait from several chains, if possible.
    #[cold]
    #[inline(never)]
    fn choose_chain(&self, found: FoundChain) -> FoundChain {
        if !found.is_one_of_several() {
            return self.remember(found);
        }
        let last_single_chain = self.last_single_chain.swap(0, Ordering::Relaxed);
        if self.is_precise && self.holders.clones() == 1 && self.trace.count().is_single() {
            found.of_single_waker()
        } else {
            found.behind(last_single_chain)
        }
    }

    /// Records that the future is about to be woken by the caller.
    #[inline(always)]
    pub fn record_wake(&self) {
        let target = self.trace.target();
        let Some(target) = target.filter(|_| self.is_latest.load(Ordering::Relaxed)) else {
            return;
        };
        match self.trace.recording() {
            Some(probe) => {
                let site = callers::wake_site(probe, &linux::local().polled, walk::here());
                target.wake_from(probe, site);
            }
            None => target.wake_alone::<linux::Linux>(),
        }
    }

    /// A waker is dropped. In the current poll it may belong to a leaf which has announced its wait
    /// and is dropped itself, as in a `select!` that another branch ends.
    #[inline]
    pub fn mark_announcement_uncertain(&self) {
        if self.is_polled_here() {
            announce::mark_uncertain(linux::local());
        }
    }

    /// A clone is about to be dropped. If it is the last, all earlier waits of this poll are over,
    /// as after an `.await` that was ready but took a waker.
    #[inline]
    pub fn before_clone_dropped(&self) {
        if !self.is_polled_here() {
            return;
        }
        let local = linux::local();
        announce::mark_uncertain(local);
        match self.holders.clones() {
            1 => {
                local.polled.all_wakers_dropped();
                announce::mark_wakerless(local);
            }
            clones if announce::mark_dropped_waker(local, clones) => local.polled.waker_dropped(),
            _ => {}
        }
    }

    /// Is the future of this waker being polled here?
    #[inline(always)]
    fn is_polled_here(&self) -> bool {
        let polled = &linux::local().polled;
        polled.limits(ptr::from_ref(self).addr()).is_some()
    }

    /// In the poll with these limits, the function at `here` clones this waker: records the chain
    /// of functions up to the poll.
    #[inline(always)]
    pub fn record_chain(&self, polled: &Polled, limits: Limits, here: Position) {
        if let Some(probe) = self.trace.live_probe() {
            let chain = callers::clone_chain(probe, polled, here, limits, self.site);
            if polled.record_chain(chain) {
                announce::forget_superseded(linux::local());
            }
        }
    }

    /// Counts the first clone.
    #[cold]
    #[inline(never)]
    pub fn count_first(&self) {
        self.trace.count().add();
        self.holders.set_counted();
    }
}
