//! [`Traced`]: a future whose polls are recorded, whatever executor runs it.
#![allow(unsafe_code, reason = "pin projection, and nothing else")]

use core::any::type_name;
use core::future::Future;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::coroutine::Kind;
use crate::linux::{Task, probe};
use crate::site::SiteWord;

/// A future that records its birth, each poll, each `Pending`, and its end: completion, panic or
/// cancellation. Its output, its wakers and its `Send` and `Unpin` are those of the future inside.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Traced<F> {
    task: Task,
    /// Where it is said to wait when no leaf future says more: its own poll function.
    site: SiteWord,
    future: F,
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
        let poll: fn(Pin<&mut Self>, &mut Context<'_>) -> Poll<F::Output> = <Self as Future>::poll;
        let site = match probe() {
            Some(probe) => probe.function_site(poll as usize as u64, type_name::<F>()),
            None => SiteWord::default(),
        };
        Traced {
            task: Task::born_as(name, Kind::Future, place),
            site,
            future,
        }
    }
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is never moved out of a pinned `Traced`: it is pinned again at once,
        // `Traced` has no `Drop` of its own, and is `Unpin` only if `F` is. The other fields are
        // not pinned.
        let (task, site, future) = unsafe {
            let this = self.get_unchecked_mut();
            (
                &mut this.task,
                this.site,
                Pin::new_unchecked(&mut this.future),
            )
        };
        task.run();
        let polled = future.poll(context);
        match polled {
            Poll::Pending => task.suspend_noted_or(site),
            // Dropping the trace is the coroutine's death; a later poll records nothing.
            Poll::Ready(_) => *task = Task::mute(),
        }
        polled
    }
}
