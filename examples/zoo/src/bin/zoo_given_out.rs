//! On tokio a task traces only the future that takes a lock, and keeps the guard for long after
//! that future has ended.

use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, two_workers};

static LOCK: LazyLock<TokioMutex<u64>> = LazyLock::new(TokioMutex::default);

async fn hold() {
    let mut held = LOCK.lock().traced_as("locking").await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    *held.value() += 1;
}

async fn want(name: String, truth: GroundTruth) {
    let _waiting = truth.enter(&name, line!() + 1);
    *LOCK.lock().await.value() += 1;
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let truth = GroundTruth::new();
    runtime.spawn(hold());
    sleep(Duration::from_millis(50));
    for i in 0..2 {
        let name = format!("want-{i}");
        runtime.spawn(want(name.clone(), truth.clone()).traced_as(&name));
    }
    sleep(Duration::from_millis(2300));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
