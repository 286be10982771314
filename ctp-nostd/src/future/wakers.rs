//! With which waker a traced future is polled: one wrapped around the executor's, as long as that
//! stays the same and somebody records; else the executor's own.

mod callers;
mod functions;
mod held;
mod latest_walk;
mod leaf;
mod polling;
mod walks;
mod wrapped;

use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use crate::handle::coroutine::LedBy;
use crate::linux::stack::walk;
use crate::linux::{self, Task};
use crate::protocol::chain::FoundChain;
use crate::protocol::intern::site::SiteWord;

use held::Held;
pub use leaf::waits_for_in;
use polling::Polling;

/// The wakers that a future was polled with last.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Option<Held>);

impl Wakers {
    /// Polls with a waker that tells; with the executor's own if nobody records. `site` is where
    /// it is said to wait where no chain is found.
    #[inline(always)]
    pub fn poll<F: Future>(
        &mut self,
        future: Pin<&mut F>,
        task: &Task,
        led_by: Option<LedBy>,
        site: SiteWord,
        context: &mut Context<'_>,
    ) -> (Poll<F::Output>, FoundChain) {
        let Some(wrapped) = self.around(context.waker(), task, led_by.is_some(), site) else {
            return (future.poll(context), FoundChain::default());
        };
        let waker = wrapped.lend();
        let polling = Polling::begin(linux::local, waker.data().addr(), &walk::here());
        let polled = future.poll(&mut Context::from_waker(&waker));
        let found = polling.end();
        (polled, wrapped.end_poll(found, led_by == Some(LedBy::Wake)))
    }

    #[inline(always)]
    fn around(
        &mut self,
        inner: &Waker,
        task: &Task,
        is_recorded: bool,
        site: SiteWord,
    ) -> Option<&Held> {
        let is_same = |wrapped: &Held| wrapped.is_around(inner);
        if !self.0.as_ref().is_some_and(is_same) || !is_recorded {
            self.renew(inner, task, site);
        }
        self.0.as_ref()
    }

    /// The executor gives this one now, or somebody has begun or ceased to record.
    #[cold]
    #[inline(never)]
    fn renew(&mut self, inner: &Waker, task: &Task, site: SiteWord) {
        if let Some(wrapped) = &self.0 {
            wrapped.retire();
        }
        let wrap = |trace| Held::new(inner.clone(), trace, site.interned(), wants_each_chain());
        self.0 = trace_of(inner, task).map(wrap);
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

fn wants_each_chain() -> bool {
    let region = linux::probe().map(|probe| probe.region);
    region.is_some_and(|it| !it.chains.is_empty() && it.header.wants_precise_chains())
}
