//! Four tasks on tokio take a lock for a moment, again and again. Then three hundred others queue
//! for it, each for some time. The four get the lock after them, after far longer waits than
//! before.

use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, two_workers};

static LOCK: LazyLock<TokioMutex<u64>> = LazyLock::new(Default::default);

async fn stay(time: Duration, mut held: ctp_zoo::TokioHeld<'_, u64>) {
    *held.value() += 1;
    tokio::time::sleep(time).await;
}

async fn come_often(name: String, truth: GroundTruth) {
    loop {
        let waiting = truth.enter(&name, line!() + 1);
        let held = LOCK.lock().await;
        drop(waiting);
        stay(Duration::from_millis(1), held).await;
    }
}

async fn enter_all() {
    loop {
        let held = LOCK.lock().await;
        stay(Duration::from_millis(10), held).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let (runtime, truth) = (two_workers()?, GroundTruth::new());
    for i in 0..4 {
        let name = format!("regular-{i}");
        let regular = come_often(name.clone(), truth.clone());
        runtime.spawn(regular.traced_as(&name));
    }
    sleep(Duration::from_millis(500));
    for i in 0..300 {
        runtime.spawn(enter_all().traced_as(&format!("crowd-{i}")));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
