//! [`Traced`]: a future whose polls are recorded, whatever executor runs it.
#![allow(unsafe_code, reason = "pin projection, and nothing else")]

use core::any::type_name;
use core::future::Future;
use core::mem::needs_drop;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::wakers::Wakers;
use crate::handle::Kind;
use crate::linux::{Task, probe};
use crate::protocol::intern::site::SiteWord;

/// A future that records its birth, each poll, each `Pending`, and its end: completion, panic or
/// cancellation. Its output and its `Send` and `Unpin` are those of the future inside.
///
/// With the feature `alloc` each waker that the future takes wakes what the executor's own would,
/// and tells of it first: so a wake is counted, and it is known when there is no waker left. When one
/// is cloned, the functions that await each other are on the stack: of a program that is compiled
/// with frame pointers (`-C force-frame-pointers=yes`) that chain is recorded with the wait, else the
/// function that clones alone. A leaf that looks into the waker for its executor's own data finds
/// another one there.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Traced<F> {
    /// Where it is said to wait when no leaf future says more: the future's own poll function.
    site: SiteWord,
    // Dropped in this order: what the future's destructors do comes before its death.
    future: F,
    task: Task,
    wakers: Wakers,
}

/// Adds [`traced`](TracedExt::traced) to every future.
pub trait TracedExt: Future + Sized {
    /// Records what becomes of this future. Its name is its type's; the caller is where it is
    /// spawned. Costs nothing when nobody records.
    #[track_caller]
    fn traced(self) -> Traced<Self> {
        Traced::new(self, type_name::<Self>(), Location::caller())
    }

    /// As [`traced`](TracedExt::traced), under a name of its own.
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
            task: Task::born_as(name, Kind::Future, place),
            wakers: Wakers::default(),
        }
    }

    /// The id that [`Wait::coroutine`](crate::Wait::coroutine) wants, for those that wait for the end
    /// of this future; 0 if it is not recorded. Ask before it is spawned.
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
        let led_by = run.task.runs();
        let (polled, found) = wakers.poll(future, run.task, led_by, site, context);
        match polled {
            Poll::Pending => {
                run.is_last = false;
                run.task.suspend_noted_or(site, found);
            }
            Poll::Ready(_) if needs_drop::<F::Output>() => run.task.gives_out(),
            Poll::Ready(_) => {}
        }
        polled
    }
}

/// A poll. One that completes or panics is the last: dropping the trace is the coroutine's
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
