//! Two tasks on tokio, each with an account: each locks its own, and a step of its work, traced by
//! itself, wants the other's. A third has a step too, which gives up in time.

use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, two_workers};
use tokio::sync::Barrier;
use tokio::time::timeout;

static ACCOUNTS: LazyLock<[TokioMutex<u64>; 2]> = LazyLock::new(Default::default);

async fn deposit(to: usize, truth: GroundTruth) {
    let _waiting = truth.enter(&format!("deposit-{to}"), line!() + 1);
    *ACCOUNTS[to].lock().await.value() += 1;
}

async fn transfer(from: usize, both: Arc<Barrier>, truth: GroundTruth) {
    // Its own line is known only with frame pointers.
    let _waiting = truth.enter(&format!("transfer-{from}"), line!() - 2);
    let mut mine = ACCOUNTS[from].lock().await;
    both.wait().await;
    *mine.value() += 1;
    let to = 1 - from;
    deposit(to, truth.clone())
        .traced_as(&format!("deposit-{to}"))
        .await;
}

async fn audit(truth: GroundTruth) {
    for _ in 0..5 {
        let step = deposit(0, truth.clone()).traced_as("audited");
        let _gives_up = timeout(Duration::from_millis(50), step).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let (both, truth) = (Arc::new(Barrier::new(2)), GroundTruth::new());
    for from in 0..2 {
        let transfer = transfer(from, Arc::clone(&both), truth.clone());
        runtime.spawn(transfer.traced_as(&format!("transfer-{from}")));
    }
    runtime.spawn(audit(GroundTruth::new()).traced_as("audit"));
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
