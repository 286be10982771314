//! The waker with which a traced future is polled. Usually this is a wrapper around the executor's
//! waker. The wrapper is kept until the executor passes another waker. Without a recorder, the future
//! is polled with the executor's own waker.

mod branches;
mod callers;
mod functions;
mod latest_walk;
mod leaf;
mod polling;
mod walks;
mod wrapped;
mod wrapped_ref;

use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use crate::handle::coroutine::RunCause;
use crate::linux::stack::walk;
use crate::linux::{self, Task};
use crate::protocol::chain::FoundWait;
use crate::protocol::intern::site::SiteWord;

pub use leaf::waits_for_in;
use polling::Polling;
use wrapped_ref::WrappedRef;

/// The waker of the future's latest poll.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Option<WrappedRef>);

impl Wakers {
    /// Polls with a recording waker, or with the executor's own if there is no recorder. `site` is
    /// the site of the wait where no chain is found.
    #[inline(always)]
    pub fn poll<F: Future>(
        &mut self,
        future: Pin<&mut F>,
        task: &Task,
        cause: Option<RunCause>,
        site: SiteWord,
        context: &mut Context<'_>,
    ) -> (Poll<F::Output>, FoundWait) {
        let Some(wrapped) = self.around(context.waker(), task, cause.is_some(), site) else {
            return (future.poll(context), FoundWait::default());
        };
        let (waker, is_precise) = wrapped.begin_poll();
        let polling = Polling::begin(linux::local, waker.data().addr(), &walk::here());
        let polled = future.poll(&mut Context::from_waker(&waker));
        let found = polling.end();
        (
            polled,
            wrapped.end_poll(found, is_precise, cause == Some(RunCause::Wake)),
        )
    }

    /// The wrapper around `inner`. Creates a new wrapper if there is none yet, if `inner` is another
    /// waker than before, or if this poll is not recorded. `None` without a recorder.
    #[inline(always)]
    fn around(
        &mut self,
        inner: &Waker,
        task: &Task,
        is_recorded: bool,
        site: SiteWord,
    ) -> Option<&WrappedRef> {
        let wrapped = self.0.as_ref();
        if !wrapped.is_some_and(|wrapped| wrapped.is_around(inner)) || !is_recorded {
            self.renew(inner, task, site);
        }
        self.0.as_ref()
    }

    /// Wraps the waker again, because the executor gives another waker, or recording has started or stopped.
    #[cold]
    #[inline(never)]
    fn renew(&mut self, inner: &Waker, task: &Task, site: SiteWord) {
        if let Some(wrapped) = &self.0 {
            wrapped.retire();
        }
        self.0 = trace_of(inner, task).map(|trace| {
            WrappedRef::new(
                inner.clone(),
                trace,
                site.interned(),
                wants_precise_chains(),
            )
        });
    }
}

/// A waker that records wakes of the coroutine, with counted clones if the count means anything. `None`
/// if the coroutine is not recorded.
///
/// The count means nothing in two cases. A waker without data, such as [`Waker::noop`], cannot wake a
/// particular task, so its executor polls without being woken. And if the coroutine began without a
/// recorder, leaf futures may keep wakers that were never counted.
fn trace_of(inner: &Waker, task: &Task) -> Option<linux::Waker> {
    if inner.data().is_null() || !task.is_whole() {
        task.is_recorded().then(|| task.waker())
    } else {
        task.counted_waker()
    }
}

fn wants_precise_chains() -> bool {
    let region = linux::probe().map(|probe| probe.region);
    region.is_some_and(|region| !region.chains.is_empty() && region.header.wants_precise_chains())
}
