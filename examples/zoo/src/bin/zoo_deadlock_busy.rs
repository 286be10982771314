//! Two tasks on tokio each hold a drawer and want the other's. One of them also has other work, and
//! therefore runs again and again. A third does the same with a drawer that is released now and
//! then.

use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, two_workers};
use tokio::sync::Barrier;

static DRAWERS: LazyLock<[TokioMutex<u64>; 3]> = LazyLock::new(Default::default);

async fn tick() {
    loop {
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}

async fn wait(both: Arc<Barrier>, truth: GroundTruth) {
    let _mine = DRAWERS[0].lock().await;
    both.wait().await;
    let _waiting = truth.enter("waiter", line!() + 1);
    *DRAWERS[1].lock().await.value() += 1;
}

async fn take_the_other(truth: GroundTruth) {
    let _waiting = truth.enter("worker", line!() + 1);
    *DRAWERS[0].lock().await.value() += 1;
}

async fn work(both: Arc<Barrier>, truth: GroundTruth) {
    let _mine = DRAWERS[1].lock().await;
    both.wait().await;
    tokio::join!(take_the_other(truth), tick());
}

async fn share() {
    for _ in 0..3 {
        let mut mine = DRAWERS[2].lock().await;
        *mine.value() += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let (both, truth) = (Arc::new(Barrier::new(2)), GroundTruth::new());
    runtime.spawn(wait(Arc::clone(&both), truth.clone()).traced_as("waiter"));
    runtime.spawn(work(both, truth.clone()).traced_as("worker"));
    for i in 0..2 {
        let both = async { tokio::join!(share(), share()) };
        runtime.spawn(both.traced_as(&format!("sharer-{i}")));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
