//! Wakers of [`Traced`](crate::Traced) futures: each wraps the one that the executor gave, tells of
//! a wake before it passes it on, and counts its clones.
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
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use heap::sync::Arc;

use crate::linux::{self, Task};

/// What the wakers of a future share, as long as any is left.
#[derive(Debug)]
struct Wrapped {
    inner: Waker,
    trace: linux::Waker,
    /// The executor still gives this one.
    is_latest: AtomicBool,
}

/// The wakers that a future was polled with last.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Option<Arc<Wrapped>>);

impl Wakers {
    /// Polls with a waker that tells; with the executor's own if nobody records.
    pub fn poll<F: Future>(
        &mut self,
        future: Pin<&mut F>,
        task: &Task,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        match self.around(context.waker(), task) {
            Some(wrapped) => future.poll(&mut Context::from_waker(&lend(wrapped))),
            None => future.poll(context),
        }
    }

    fn around(&mut self, inner: &Waker, task: &Task) -> Option<&Arc<Wrapped>> {
        let is_same = |wrapped: &Arc<Wrapped>| wrapped.inner.will_wake(inner);
        if !self.0.as_ref().is_some_and(is_same) || !task.is_recorded() {
            self.retire();
            self.0 = trace_of(inner, task).map(|trace| {
                Arc::new(Wrapped {
                    inner: inner.clone(),
                    trace,
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
