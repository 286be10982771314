//! What the futures of other libraries wait for, which these do not tell.

use std::future::{Future, poll_fn};
use std::pin::pin;

use ctp_nostd as ctp;

/// Awaits a future, and tells what for whenever it is not ready.
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
