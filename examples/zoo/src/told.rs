//! What the futures of other libraries wait for, which these do not tell.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use ctp_nostd as ctp;
use rustix::time::{ClockId, clock_gettime};

/// Awaits a future, and tells what for whenever it is not ready.
pub async fn told<F: Future>(future: F, wait: ctp::Wait) -> F::Output {
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

/// The wait of a timer that is started now.
#[track_caller]
pub fn timer(time: Duration) -> ctp::Wait {
    let now = clock_gettime(ClockId::Monotonic);
    let due = Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + time;
    ctp::Wait::timer(due.as_nanos() as u64)
}
