//! The tasks.

use crate::board;
use crate::signal::{FRAMES, TIMER};

/// After this many frames, the radio checks its receiver, which takes longer than the time until the
/// next frame.
const CHECKED_AFTER: u32 = 12;

/// Blinks every 16 ms.
pub async fn blink() {
    loop {
        let next = board::now_ms() + 16;
        while board::now_ms() < next {
            TIMER.received().await;
        }
    }
}

/// Takes frames.
pub async fn radio() {
    for _ in 0..CHECKED_AFTER {
        FRAMES.received().await;
    }
    loop {
        FRAMES.received().with_check(7).await; // the wakeup is lost here
    }
}

/// Ends at once.
pub async fn log() {}
