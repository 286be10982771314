//! Wakers of [`Traced`](crate::Traced) futures. Each wraps the waker that the executor gave,
//! records a wake before passing it on, counts its clones, and finds the await chain of each clone.
//!
//! ```text
//!   executor's waker ──> Wrapped { inner, trace } ──> Context of the poll ──> leaf futures
//!                          ^ one for all polls, while    (borrowed: not counted)     clones, counted
//!                            the executor's stays                                (`holders.rs`)
//! ```
//! The future lends the waker of a poll, so that a poll changes no count. A borrowed waker does not
//! prove that the coroutine can be woken. If the executor gives another waker, the earlier wakers
//! continue to wake what they woke before, and no longer count as wakers of this coroutine.
//!
//! A leaf future may keep its earlier clone if that wakes the same task as the waker of the poll
//! ([`Waker::will_wake`]). Then the poll does not show where the leaf is awaited. In a precise poll
//! (`branches.rs`), the borrowed waker has a table of functions of its own, so it never equals its
//! clones, and each leaf that is polled clones again. `will_wake` permits this: it only promises that
//! wakers it calls equal wake the same task.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::task::{RawWakerVTable, Waker};

use super::branches::{Awaited, Branches};
use super::callers;
use super::functions::{BRANCH_VTABLES, CLONE_VTABLE};
use crate::event::announce;
use crate::linux;
use crate::linux::stack::walk::{self, FramePosition};
use crate::platform::{Limits, Polled, Recorded};
use crate::protocol::chain::{FoundChain, FoundWait, PollWakers};
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
    /// {one of several 1 | id of the chain or branches, 0 if not known, 31} of the wait in which the
    /// latest poll ended.
    waits: AtomicU32,
    /// What is known about the leaves if a poll leaves several waiting, or does not show which leaf
    /// waits.
    pub(super) branches: Branches,
}

/// In `waits`: the wait is one of several. Ids of chains are smaller.
const ONE_OF_SEVERAL: u32 = 1 << 31;

impl Wrapped {
    /// Wraps a waker that the executor gave. The future is the first holder.
    pub fn new(inner: Waker, trace: linux::Waker, site: u32, is_precise: bool) -> Self {
        Wrapped {
            holders: Holders::new(),
            inner,
            trace,
            site,
            is_latest: AtomicBool::new(true),
            waits: AtomicU32::new(0),
            branches: Branches::new(is_precise),
        }
    }

    /// Notes that the executor uses another waker from now on.
    pub fn retire(&self) {
        self.is_latest.store(false, Ordering::Relaxed);
    }

    /// Ends the poll to which the waker was borrowed, and which found these chains. Returns the place
    /// of the wait.
    #[inline]
    pub fn end_poll(&self, found: FoundChain, was_precise: bool, was_woken: bool) -> FoundWait {
        let (follow_up, are_several) = self.holders.end_poll();
        if are_several {
            announce::mark_uncertain(linux::local()); // the announcement may not cover all waits
        }
        if follow_up.uncount {
            self.trace.counter().subtract();
        }
        let is_clear = found.chain != 0 && !found.is_one_of_several();
        let wait = if is_clear && !are_several && !was_precise {
            FoundWait::at(found.chain)
        } else {
            self.end_unclear_poll(found, was_precise, was_woken)
        };
        let mark = if wait.is_one_of_several {
            ONE_OF_SEVERAL
        } else {
            0
        };
        self.waits.store(wait.chain | mark, Ordering::Relaxed);
        FoundWait {
            wakers: self.wakers_after(found.wakers),
            ..wait
        }
    }

    /// The wakers that are left after a poll, which itself left `of_poll`.
    #[inline(always)]
    fn wakers_after(&self, of_poll: PollWakers) -> PollWakers {
        if of_poll == PollWakers::Unregistered && self.holders.clones() != 0 {
            PollWakers::Earlier
        } else {
            of_poll
        }
    }

    /// Ends a poll after which the place of the wait is not simply the only chain.
    #[cold]
    #[inline(never)]
    fn end_unclear_poll(&self, found: FoundChain, was_precise: bool, was_woken: bool) -> FoundWait {
        let settled = found.settled();
        if settled.chain == 0 && !was_precise {
            self.branches.forget_poll();
        }
        let awaited = self.branches.end_poll(was_precise);
        if !announce::is_announced(linux::local()) && self.has_chains() {
            self.branches.ask_for_precise_polls(self.holders.clones());
        }
        let is_last_only = was_precise && self.holders.clones() == 1;
        match if is_last_only {
            awaited.last()
        } else {
            awaited.single()
        } {
            Some(chain) => FoundWait::at(chain),
            None if !awaited.is_empty() => self.at_branches(awaited),
            None if found.chain == 0 && !was_woken => self.previous_wait(),
            None if was_precise => FoundWait::default(),
            None => FoundWait {
                is_one_of_several: self.is_open(found),
                ..FoundWait::at(settled.chain)
            },
        }
    }

    /// Whether the wait may be elsewhere than at the only chain. A waker was dropped after the chain
    /// was found: that of an earlier poll, or that of the leaf with this chain. In the second case
    /// that leaf is over, and another leaf waits, with a waker of an earlier poll.
    fn is_open(&self, found: FoundChain) -> bool {
        found.is_only_before_a_drop() && found.chain != self.previous_wait().chain
    }

    fn at_branches(&self, awaited: Awaited<'_>) -> FoundWait {
        let probe = self.trace.live_probe();
        FoundWait {
            chain: probe.map_or(0, |probe| awaited.id(|set| probe.branches(self.site, set))),
            is_one_of_several: true,
            argument: awaited.argument(),
            ..FoundWait::default()
        }
    }

    fn has_chains(&self) -> bool {
        let probe = self.trace.live_probe();
        probe.is_some_and(|probe| !probe.region.chains.is_empty())
    }

    /// The wait in which the previous poll ended, if its leaf has the only clone. A leaf that was not
    /// woken, and has taken no other waker, still waits.
    fn previous_wait(&self) -> FoundWait {
        let waits = match self.holders.clones() {
            1 => self.waits.load(Ordering::Relaxed),
            _ => 0,
        };
        FoundWait {
            is_one_of_several: waits & ONE_OF_SEVERAL != 0,
            ..FoundWait::at(waits & !ONE_OF_SEVERAL)
        }
    }

    /// Records that the future is about to be woken by the caller.
    #[inline(always)]
    pub fn record_wake(&self) {
        let target = self.trace.target();
        let Some(target) = target.filter(|_| self.is_latest.load(Ordering::Relaxed)) else {
            return;
        };
        match self.trace.recording_probe() {
            Some(probe) => {
                let site = callers::wake_site(probe, &linux::local().polled, walk::here());
                target.wake_at_site_id(probe, site);
            }
            None => target.wake_without_recorder::<linux::Linux>(),
        }
    }

    /// Notes that a waker is consumed. The waker may belong to a leaf that has announced its wait in the
    /// current poll, and that is dropped itself, as in a `select!` that another branch ends.
    #[inline]
    pub fn mark_announcement_uncertain(&self) {
        if self.is_polled_here() {
            announce::mark_uncertain(linux::local());
        }
    }

    /// Notes that a clone is about to be dropped. If that is the last clone, all earlier waits of this
    /// poll are over, as after an `.await` that was ready but took a waker.
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
            _ => local.polled.some_waker_dropped(),
        }
    }

    /// Whether the future of this waker is being polled on this thread.
    #[inline(always)]
    fn is_polled_here(&self) -> bool {
        let polled = &linux::local().polled;
        polled.limits(ptr::from_ref(self).addr()).is_some()
    }

    /// In the poll with these limits, the function at `here` clones this waker: records the chain
    /// of functions up to the poll. Returns the functions of the clone.
    #[inline(always)]
    pub fn record_chain(
        &self,
        polled: &Polled,
        limits: Limits,
        here: FramePosition,
    ) -> &'static RawWakerVTable {
        let Some(probe) = self.trace.live_probe() else {
            return &CLONE_VTABLE;
        };
        let chain = callers::clone_chain(probe, polled, here, limits, self.site);
        match polled.record_chain(chain) {
            Recorded::Only if !self.branches.is_precise() => &CLONE_VTABLE,
            recorded => self.record_branch(chain, recorded),
        }
    }

    /// Records the chain of one of several clones, or of a clone in a precise poll.
    #[cold]
    #[inline(never)]
    fn record_branch(&self, chain: u32, recorded: Recorded) -> &'static RawWakerVTable {
        if recorded == Recorded::Superseding {
            announce::forget_superseded(linux::local());
        }
        if self.branches.is_precise() {
            let number = self.branches.clone_of(chain);
            return number.map_or(&CLONE_VTABLE, |number| &BRANCH_VTABLES[number]);
        }
        match recorded {
            Recorded::Superseding => self.branches.forget_poll(),
            Recorded::After(first) => {
                self.branches.note(first);
                self.branches.note(chain);
            }
            Recorded::Only => {}
        }
        &CLONE_VTABLE
    }

    /// Notes that a waker of this branch is called.
    #[inline]
    pub fn wake_branch(&self, number: usize) {
        self.branches.wake(number);
        if self.is_polled_here() {
            self.branches.wake_inside();
        }
    }

    /// Adds a clone, and counts it in the station if it is the first.
    #[inline(always)]
    pub fn add_holder(&self) {
        if self.holders.add() {
            self.count_first();
        }
    }

    /// Counts the first clone.
    #[cold]
    #[inline(never)]
    fn count_first(&self) {
        self.trace.counter().add();
        self.holders.set_counted();
    }
}
