//! Wakers of [`Traced`](crate::Traced) futures: each wraps the one that the executor gave, tells of
//! a wake before it passes it on, counts its clones, and finds who waits there.
//!
//! ```text
//!   executor's waker ──> Wrapped { inner, trace } ──> Context of the poll ──> leaf futures
//!                          ^ one for all polls, while    (lent: not counted)     clone: wakers + 1
//!                            the executor's stays                                drop:  wakers - 1
//! ```
//! The one that a poll is given is lent by the future, so that a poll costs no count; it would be
//! no proof that anybody can wake the coroutine. Where the executor gives another waker, those of
//! before go on to wake what they woke before, and are not counted as wakes of this coroutine.
#![allow(
    unsafe_code,
    reason = "a waker that counts has to bring functions of its own"
)]

use core::mem::ManuallyDrop;
use core::ops::Range;
use core::pin::Pin;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use heap::sync::Arc;

use crate::chain::{Addresses, Chain, Digest, Found};
use crate::linux::{self, Task, stack};
use crate::polling::Polling;
use crate::site::SiteWord;
use crate::walk::{self, Here};

/// What the wakers of a future share, as long as any is left.
#[derive(Debug)]
struct Wrapped {
    inner: Waker,
    trace: linux::Waker,
    /// Id of the site that a chain stands for.
    site: u32,
    /// The executor still gives this one.
    is_latest: AtomicBool,
}

/// The wakers that a future was polled with last.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Option<Arc<Wrapped>>);

impl Wakers {
    /// Polls with a waker that tells; with the executor's own if nobody records. `site` is where
    /// it is said to wait where no chain is found.
    pub fn poll<F: Future>(
        &mut self,
        future: Pin<&mut F>,
        task: &Task,
        site: SiteWord,
        context: &mut Context<'_>,
    ) -> (Poll<F::Output>, Found) {
        let Some(wrapped) = self.around(context.waker(), task, site) else {
            return (future.poll(context), Found::default());
        };
        let waker = lend(wrapped);
        let polling = Polling::begin(linux::local, waker.data().addr(), &walk::here());
        let polled = future.poll(&mut Context::from_waker(&waker));
        (polled, polling.end())
    }

    fn around(&mut self, inner: &Waker, task: &Task, site: SiteWord) -> Option<&Arc<Wrapped>> {
        let is_same = |wrapped: &Arc<Wrapped>| wrapped.inner.will_wake(inner);
        if !self.0.as_ref().is_some_and(is_same) || !task.is_recorded() {
            self.retire();
            self.0 = trace_of(inner, task).map(|trace| {
                Arc::new(Wrapped {
                    inner: inner.clone(),
                    trace,
                    site: site.interned(),
                    is_latest: AtomicBool::new(true),
                })
            });
        }
        self.0.as_ref()
    }

    fn retire(&self) {
        if let Some(wrapped) = &self.0 {
            wrapped.is_latest.store(false, Ordering::Relaxed);
        }
    }
}

impl Wrapped {
    /// The poll that goes on takes this waker at the end of a chain of functions, the innermost of
    /// which is at `here`. One that ends early for another reason than its length says nothing: what
    /// it would go through was compiled without frame pointers.
    #[inline(always)]
    fn note_chain(&self, here: &Here) {
        let polled = &linux::local().polled;
        let Some(limits) = polled.limits(ptr::from_ref(self).addr()) else {
            return;
        };
        let probe = self.trace.probe();
        let stack = here.sp..limits.top;
        let Some(probe) = probe.filter(|it| !it.region.chains.is_empty()) else {
            return;
        };
        if !stack::covers(polled, &stack) {
            return;
        }
        let mut digest = Digest::of(self.site);
        digest.add(here.pc as u64);
        let add = |address| digest.add(address);
        // SAFETY: just checked.
        let is_whole = unsafe { walk::walk(here, stack.clone(), limits.base, add) };
        if let Some(hash) = digest.end(is_whole) {
            // SAFETY: as before, in the same function.
            let chain = || unsafe { self.chain(here, stack, limits.base) };
            polled.note(probe.chain(hash, chain));
        }
    }

    /// The same again, to keep it.
    ///
    /// # Safety
    /// As for [`walk::walk`].
    #[cold]
    #[inline(never)]
    unsafe fn chain(&self, here: &Here, stack: Range<usize>, base: usize) -> Chain {
        let mut addresses = Addresses::new();
        let mut add = |address| addresses.push(address).is_ok();
        add(here.pc as u64);
        // SAFETY: the caller's promise.
        let is_whole = unsafe { walk::walk(here, stack, base, add) };
        Chain {
            site: self.site,
            is_whole,
            addresses,
        }
    }
}

/// A waker without data does not know whom to wake: who gives such a one, as [`Waker::noop`], polls
/// when it likes, and none that is left says nothing.
fn trace_of(inner: &Waker, task: &Task) -> Option<linux::Waker> {
    match inner.data().is_null() {
        true => task.is_recorded().then(|| task.waker()),
        false => task.counted_waker(),
    }
}

/// For as long as this is borrowed.
fn lend(wrapped: &Arc<Wrapped>) -> ManuallyDrop<Waker> {
    // SAFETY: the functions take a pointer that `Arc` gave. What is lent is never dropped, so that
    // it takes away no count, and the borrow outlives it.
    ManuallyDrop::new(unsafe { Waker::new(Arc::as_ptr(wrapped).cast(), &FUNCTIONS) })
}

static FUNCTIONS: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_one);

/// # Safety
/// `data` comes from an `Arc<Wrapped>` that lives. So it is for all that follow.
unsafe fn clone(data: *const ()) -> RawWaker {
    let wrapped: *const Wrapped = data.cast();
    // SAFETY: as the caller says; the new count belongs to the new waker.
    unsafe {
        (*wrapped).trace.count_one_more();
        (*wrapped).note_chain(&walk::here());
        Arc::increment_strong_count(wrapped);
    }
    RawWaker::new(data, &FUNCTIONS)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: as the caller says, who gives away a count.
    unsafe {
        wake_by_ref(data);
        drop_one(data);
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: as the caller says.
    let wrapped: &Wrapped = unsafe { &*data.cast() };
    if wrapped.is_latest.load(Ordering::Relaxed) {
        wrapped.trace.wake_from_nowhere();
    }
    wrapped.inner.wake_by_ref();
}

unsafe fn drop_one(data: *const ()) {
    // SAFETY: as the caller says, who gives away a count.
    let wrapped: Arc<Wrapped> = unsafe { Arc::from_raw(data.cast()) };
    wrapped.trace.count_one_less();
}
