//! [`TracedWait`]: a future that records the line where it is awaited.
#![allow(unsafe_code, reason = "pin projection, and nothing else")]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::Embassy;
use crate::memory::layout::{Full, Layout};
use crate::platform::{Platform, ProbeLayout};
use crate::protocol::wait::Wait;

/// A future that announces a wait whenever it returns `Pending`. Made by
/// [`Embassy::traced`](crate::Embassy::traced). Its output and its `Unpin` are those of the inner
/// future.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct TracedWait<P: 'static, F, const STATIONS: usize, const ENTRIES: usize, L: Layout = Full>
{
    embassy: &'static Embassy<P, STATIONS, ENTRIES, L>,
    wait: Wait,
    future: F,
}

impl<P: Platform, F: Future, const STATIONS: usize, const ENTRIES: usize, L: ProbeLayout>
    TracedWait<P, F, STATIONS, ENTRIES, L>
{
    pub(super) fn new(
        embassy: &'static Embassy<P, STATIONS, ENTRIES, L>,
        wait: Wait,
        future: F,
    ) -> Self {
        TracedWait {
            embassy,
            wait,
            future,
        }
    }
}

impl<P: Platform, F: Future, const STATIONS: usize, const ENTRIES: usize, L: ProbeLayout> Future
    for TracedWait<P, F, STATIONS, ENTRIES, L>
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let (embassy, wait) = (self.embassy, self.wait);
        // SAFETY: `future` is pinned if `self` is: it is never moved, the type has no `Drop`, and is
        // `Unpin` only if `F` is.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        let polled = future.poll(context);
        if polled.is_pending() {
            embassy.probe().waits_for(wait);
        }
        polled
    }
}
