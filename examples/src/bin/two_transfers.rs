//! Two transfers between two accounts wait for each other for ever: each holds the lock of one account.
//! A payroll goes on meanwhile. Plain tokio without a probe, to be inspected as it is:
//! `ctp-record -p PID`. The program ends after 20 s.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{Barrier, Mutex};
use tokio::time::sleep;

const END: Duration = Duration::from_secs(20);

/// An account with a balance.
type Account = Arc<Mutex<i64>>;

async fn transfer(from: Account, to: Account, amount: i64, both: Arc<Barrier>) {
    let mut source = from.lock().await;
    both.wait().await; // both transfers hold their first account
    let mut target = to.lock().await;
    *source -= amount;
    *target += amount;
}

async fn pay_salaries() {
    loop {
        sleep(Duration::from_millis(50)).await;
    }
}

fn main() -> std::io::Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    let [savings, current] = [1_000, 200].map(|balance| Arc::new(Mutex::new(balance)));
    let both = Arc::new(Barrier::new(2));
    runtime.spawn(transfer(
        savings.clone(),
        current.clone(),
        100,
        both.clone(),
    ));
    runtime.spawn(transfer(current, savings, 50, both));
    runtime.spawn(pay_salaries());
    std::thread::sleep(END);
    runtime.shutdown_background();
    Ok(())
}
