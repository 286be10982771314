//! Giving way to other tasks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ctp_nostd as ctp;

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Yield {
    yielded: bool,
    wait: ctp::Wait,
}

/// Goes to the end of the run queue.
#[track_caller]
pub fn yield_now() -> Yield {
    Yield {
        yielded: false,
        wait: ctp::Wait::to_yield(),
    }
}

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        ctp::waits_for_in(self.wait, context);
        Poll::Pending
    }
}
