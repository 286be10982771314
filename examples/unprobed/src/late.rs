//! Timers that are due and do not fire: the program has left the runtime of these tasks, and no other thread
//! drives that runtime.

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::registry::{register, spawn_bare};

const SHORT: Duration = Duration::from_millis(50);
const HOUR: Duration = Duration::from_secs(3600);

/// `count` tasks of each kind. Those of the kinds `late-…` have a timer that is due.
pub fn start(count: usize) {
    for _ in 0..count {
        spawn_bare(waiting("select-in-time", HOUR));
    }
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for _ in 0..count {
            spawn_bare(waiting("late-select", SHORT));
            spawn_bare(limited());
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    });
    std::mem::forget(runtime);
}

async fn waiting(kind: &'static str, duration: Duration) {
    let _registration = register(kind).await;
    let notify: &Notify = Box::leak(Box::new(Notify::new()));
    tokio::select! {
        () = sleep(duration) => {}
        () = notify.notified() => {}
    }
}

async fn limited() {
    let _registration = register("late-timeout").await;
    let notify: &Notify = Box::leak(Box::new(Notify::new()));
    let _ = timeout(SHORT, notify.notified()).await;
}
