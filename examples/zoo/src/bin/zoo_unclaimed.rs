//! A task on tokio stops polling a future that queues for a lock, without dropping it, and then
//! wants the lock itself. The lock goes to the future, which is no longer polled; others wait
//! behind them. Another task does the same and drops the future.

use std::pin::pin;
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, two_workers};

static LOCKS: LazyLock<[TokioMutex<u64>; 2]> = LazyLock::new(Default::default);

async fn background(lock: &TokioMutex<u64>) {
    let mut held = lock.lock().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    *held.value() += 1;
}

async fn work(lock: &TokioMutex<u64>) {
    *lock.lock().await.value() += 1;
}

async fn keep(truth: GroundTruth) {
    tokio::time::sleep(Duration::from_millis(10)).await;
    let mut working = pin!(work(&LOCKS[0]));
    tokio::select! {
        () = &mut working => {}
        () = tokio::time::sleep(Duration::from_millis(20)) => {
            let _waiting = truth.enter("keeper", line!() + 1);
            *LOCKS[0].lock().await.value() += 1;
        }
    }
}

async fn drop_future() {
    tokio::time::sleep(Duration::from_millis(10)).await;
    tokio::select! {
        () = work(&LOCKS[1]) => {}
        () = tokio::time::sleep(Duration::from_millis(20)) => {}
    }
    *LOCKS[1].lock().await.value() += 1;
}

async fn follow(name: String, truth: GroundTruth) {
    tokio::time::sleep(Duration::from_millis(50)).await;
    let _waiting = truth.enter(&name, line!() + 1);
    *LOCKS[0].lock().await.value() += 1;
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let truth = GroundTruth::new();
    for lock in LOCKS.iter() {
        runtime.spawn(background(lock).traced_as("background"));
    }
    runtime.spawn(keep(truth.clone()).traced_as("keeper"));
    runtime.spawn(drop_future().traced_as("dropper"));
    for i in 0..3 {
        let name = format!("follower-{i}");
        runtime.spawn(follow(name.clone(), truth.clone()).traced_as(&name));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
