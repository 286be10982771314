//! Three tasks on tokio, round a table: each takes the fork on its left, and waits for the fork on
//! its right. Others share a fourth fork, and end.

use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, two_workers};
use tokio::sync::Barrier;

static FORKS: LazyLock<[TokioMutex<u64>; 4]> = LazyLock::new(Default::default);

async fn dine(slot: usize, seated: Arc<Barrier>, truth: GroundTruth) {
    let mut left = FORKS[slot].lock().await;
    seated.wait().await;
    *left.value() += 1;
    let _waiting = truth.enter(&format!("diner-{slot}"), line!() + 1);
    let _right = FORKS[(slot + 1) % 3].lock().await;
}

async fn share() {
    for _ in 0..100 {
        *FORKS[3].lock().await.value() += 1;
        let mut mine = FORKS[3].lock().await;
        tokio::time::sleep(Duration::from_millis(2)).await;
        *mine.value() += 1;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let (seated, truth) = (Arc::new(Barrier::new(3)), GroundTruth::new());
    for slot in 0..3 {
        let diner = dine(slot, Arc::clone(&seated), truth.clone());
        runtime.spawn(diner.traced_as(&format!("diner-{slot}")));
    }
    for i in 0..3 {
        runtime.spawn(share().traced_as(&format!("sharer-{i}")));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
