//! Two tasks on tokio take two mutexes in opposite order, and report nothing. They do so at once, without
//! any earlier wait for a lock.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Barrier, Mutex};

type Account = Arc<Mutex<u32>>;

async fn transfer(
    from: Account,
    to: Account,
    both: Arc<Barrier>,
    name: String,
    truth: GroundTruth,
) {
    let mut from = from.lock().await;
    both.wait().await;
    let _waiting = truth.enter(&name, line!() + 1);
    let mut to = to.lock().await;
    *from -= 1;
    *to += 1;
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let accounts = [9, 9].map(|amount| Arc::new(Mutex::new(amount)));
    let both = Arc::new(Barrier::new(2));
    for (from, to) in [(0, 1), (1, 0)] {
        let name = format!("transfer-{from}");
        let (from, to) = (accounts[from].clone(), accounts[to].clone());
        let transfer = transfer(from, to, both.clone(), name.clone(), truth.clone());
        runtime.spawn(transfer.traced_as(&name));
    }
    std::thread::sleep(Duration::from_secs(6));
    truth.record(|_| true);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
