//! [`Traced`]: a future whose polls are recorded, under any executor.
#![allow(unsafe_code, reason = "pin projection, and nothing else")]

use core::any::type_name;
use core::future::Future;
use core::mem::needs_drop;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::wakers::Wakers;
use crate::linux::{Task, probe};
use crate::protocol::intern::site::SiteWord;

/// A future that records its birth, each poll, each `Pending`, and its end: completion, panic or
/// cancellation. Its output and its `Send` and `Unpin` are those of the inner future.
///
/// With the feature `alloc`, each waker that the future takes records the wake and then wakes what
/// the executor's own waker would. So wakes are counted, and the trace shows when no waker is left.
///
/// When a waker is cloned, the functions that await each other are on the stack. In a program
/// compiled with frame pointers (`-C force-frame-pointers=yes`) that chain is recorded with the
/// wait, otherwise only the function that clones. A leaf future must not rely on data that the
/// executor stores in its waker: it gets the waker of this type instead.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Traced<F> {
    /// The site of a wait without an announcement: the future's own poll function.
    site: SiteWord,
    // Dropped in this order: the future's destructors run before its death.
    future: F,
    task: Task,
    wakers: Wakers,
}

/// Adds [`traced`](TracedExt::traced) to every future.
pub trait TracedExt: Future + Sized {
    /// Records the life of this future. Its name is the name of its type; the caller is the spawn
    /// site. Without a recorder, a poll costs one or two branches.
    ///
    /// ```
    /// use ctp_nostd::TracedExt as _;
    ///
    /// # fn spawn(_: impl Future<Output = u32>) {}
    /// spawn(async { 7 }.traced());
    /// ```
    #[track_caller]
    fn traced(self) -> Traced<Self> {
        Traced::new(self, type_name::<Self>(), Location::caller())
    }

    /// Like [`traced`](TracedExt::traced), under this name. Use few different names: each takes an
    /// entry of the table of names.
    #[track_caller]
    fn traced_as(self, name: &str) -> Traced<Self> {
        Traced::new(self, name, Location::caller())
    }
}

impl<F: Future> TracedExt for F {}

impl<F: Future> Traced<F> {
    fn new(future: F, name: &str, place: &'static Location<'static>) -> Self {
        let poll: fn(Pin<&mut F>, &mut Context<'_>) -> Poll<F::Output> = <F as Future>::poll;
        let site = match probe() {
            Some(probe) => probe.function_site(poll as usize as u64, type_name::<F>()),
            None => SiteWord::default(),
        };
        Traced {
            site,
            future,
            task: Task::future_born(name, type_name::<F>(), place),
            wakers: Wakers::default(),
        }
    }

    /// The id that [`Wait::coroutine`](crate::Wait::coroutine) takes, for coroutines that wait for
    /// the end of this future; 0 if it is not recorded. Call this before the future is spawned.
    pub fn id(&self) -> u64 {
        self.task.id()
    }
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is never moved out of a pinned `Traced`: it is pinned again at once,
        // `Traced` has no `Drop` of its own, and is `Unpin` only if `F` is. The other fields are
        // not pinned.
        let (site, future, task, wakers) = unsafe {
            let this = self.get_unchecked_mut();
            (
                this.site,
                Pin::new_unchecked(&mut this.future),
                &mut this.task,
                &mut this.wakers,
            )
        };
        let mut run = Run {
            task,
            is_last: true,
        };
        let cause = run.task.runs();
        let (polled, found) = wakers.poll(future, run.task, cause, site, context);
        match polled {
            Poll::Pending => {
                run.is_last = false;
                run.task.suspend_announced_or(site, found);
            }
            Poll::Ready(_) if needs_drop::<F::Output>() => run.task.mark_lock_returned(),
            Poll::Ready(_) => {}
        }
        polled
    }
}

/// A poll. A poll that completes or panics is the last: dropping the task records the coroutine's
/// death, and a later poll records nothing.
struct Run<'t> {
    task: &'t mut Task,
    is_last: bool,
}

impl Drop for Run<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_last {
            *self.task = Task::mute();
        }
    }
}
