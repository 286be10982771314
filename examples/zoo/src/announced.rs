//! Announces the waits of futures from other libraries.

use std::future::{Future, poll_fn};
use std::pin::pin;

use ctp_nostd as ctp;

/// Awaits a future, and announces the wait whenever the future is pending.
pub async fn announced<F: Future>(future: F, wait: ctp::Wait) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            ctp::waits_for_in(wait, context);
        }
        polled
    })
    .await
}
