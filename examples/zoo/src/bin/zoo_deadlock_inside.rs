//! Two tasks on tokio, each with an account: each locks its own, and a step of its work, traced by
//! itself, wants the other's. A third has a step too, which gives up in time.

use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{Ledger, TokioMutex, two_workers};
use tokio::sync::Barrier;
use tokio::time::timeout;

static ACCOUNTS: LazyLock<[TokioMutex<u64>; 2]> = LazyLock::new(Default::default);

async fn deposit(to: usize, ledger: Ledger) {
    let _waiting = ledger.enter(&format!("deposit-{to}"), line!() + 1);
    *ACCOUNTS[to].lock().await.value() += 1;
}

async fn transfer(from: usize, both: Arc<Barrier>, ledger: Ledger) {
    // Its own line is told only where its program has frame pointers.
    let _waiting = ledger.enter(&format!("transfer-{from}"), line!() - 2);
    let mut mine = ACCOUNTS[from].lock().await;
    both.wait().await;
    *mine.value() += 1;
    let to = 1 - from;
    deposit(to, ledger.clone())
        .traced_as(&format!("deposit-{to}"))
        .await;
}

async fn audit(ledger: Ledger) {
    for _ in 0..5 {
        let step = deposit(0, ledger.clone()).traced_as("audited");
        let _gives_up = timeout(Duration::from_millis(50), step).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let (both, ledger) = (Arc::new(Barrier::new(2)), Ledger::new());
    for from in 0..2 {
        let transfer = transfer(from, Arc::clone(&both), ledger.clone());
        runtime.spawn(transfer.traced_as(&format!("transfer-{from}")));
    }
    runtime.spawn(audit(Ledger::new()).traced_as("audit"));
    sleep(Duration::from_millis(2500));
    ledger.tell(|_| true);
    // As it stands: nobody is cancelled.
    std::process::exit(0)
}
