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

async fn short(index: usize) {
    for _ in 0..index % 4 {
        tokio::task::yield_now().await;
    }
    if index % 3 == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
