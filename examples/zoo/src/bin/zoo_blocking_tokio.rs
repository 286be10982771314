//! A task on tokio blocks its worker in a call. Another one leaves the same call to a thread that is
//! there for it, and waits; the rest go on with the worker that is left.

use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{Ledger, Signal, two_workers};

fn import() {
    sleep(Duration::from_secs(1000));
}

async fn block(signal: Signal) {
    signal.raised().await;
    println!("busy blocker {}", rustix::thread::gettid().as_raw_nonzero());
    import();
}

async fn leave_it(signal: Signal, ledger: Ledger) {
    signal.raised().await;
    let _waiting = ledger.enter("leaver", line!() + 1);
    let _ = tokio::task::spawn_blocking(import).await;
}

async fn tick(name: String, ledger: Ledger) {
    loop {
        let _waiting = ledger.enter(&name, line!() + 1);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp_nostd::attach();
    let runtime = two_workers()?;
    let (ledger, starts) = (Ledger::new(), [Signal::new(), Signal::new()]);
    runtime.spawn(block(starts[0].clone()).traced_as("blocker"));
    runtime.spawn(leave_it(starts[1].clone(), ledger.clone()).traced_as("leaver"));
    for i in 0..4 {
        let name = format!("ticker-{i}");
        runtime.spawn(tick(name.clone(), ledger.clone()).traced_as(&name));
    }
    sleep(Duration::from_millis(200));
    starts.iter().for_each(Signal::raise);
    sleep(Duration::from_millis(2500));
    ledger.tell(|_| false);
    // As it stands: nobody is cancelled.
    std::process::exit(0)
}
