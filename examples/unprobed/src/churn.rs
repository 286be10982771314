//! Tasks that come and go.

use std::time::Duration;

use crate::registry::spawn;
use crate::waits;

/// `count` tasks that each spawn short tasks, one after another, beside tasks that stay.
pub fn start(count: usize) {
    waits::start(count);
    for index in 0..count {
        spawn("spawner", async move {
            loop {
                let handle = spawn("short", short(index));
                if handle.await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Ends after a millisecond, or after some polls.
async fn short(index: usize) {
    if index % 4 == 0 {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
}
