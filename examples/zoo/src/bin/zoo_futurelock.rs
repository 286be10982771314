//! A task stops polling a future that holds a lock, without dropping it, and then wants the lock
//! itself. Another task does the same and drops the future.

use std::pin::pin;
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, two_workers};

static LOCKS: LazyLock<[TokioMutex<u64>; 2]> = LazyLock::new(Default::default);

async fn work(lock: &TokioMutex<u64>) {
    let mut held = lock.lock().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    *held.value() += 1;
}

async fn keep(truth: GroundTruth) {
    let mut working = pin!(work(&LOCKS[0]));
    tokio::select! {
        () = &mut working => {}
        () = tokio::time::sleep(Duration::from_millis(20)) => {
            let _waiting = truth.enter("keeper", line!() + 1);
            *LOCKS[0].lock().await.value() += 1;
        }
    }
}

async fn drop_future(truth: GroundTruth) {
    tokio::select! {
        () = work(&LOCKS[1]) => {}
        () = tokio::time::sleep(Duration::from_millis(20)) => {}
    }
    let _waiting = truth.enter("dropper", line!() + 1);
    *LOCKS[1].lock().await.value() += 1;
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let truth = GroundTruth::new();
    runtime.spawn(keep(truth.clone()).traced_as("keeper"));
    runtime.spawn(drop_future(truth.clone()).traced_as("dropper"));
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
