//! A task on tokio blocks its worker in a call. Another task moves the same call to a blocking
//! thread, and waits; the rest continue on the other worker. They start once the first task
//! occupies its worker: the task that this worker woke last would stay with it (`zoo_lifo`).

use std::sync::mpsc::{Sender, channel};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};

fn import() {
    sleep(Duration::from_secs(1000));
}

async fn block(started: Sender<()>) {
    println!("busy blocker {}", rustix::thread::gettid().as_raw_nonzero());
    started.send(()).expect("main waits for it");
    import();
}

async fn leave_lock(truth: GroundTruth) {
    let _waiting = truth.enter("leaver", line!() + 1);
    let _ = tokio::task::spawn_blocking(import).await;
}

async fn tick(name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp_nostd::attach();
    let runtime = two_workers()?;
    let (truth, (begins, started)) = (GroundTruth::new(), channel());
    runtime.spawn(block(begins).traced_as("blocker"));
    started.recv().expect("it begins");
    runtime.spawn(leave_lock(truth.clone()).traced_as("leaver"));
    for i in 0..4 {
        let name = format!("ticker-{i}");
        runtime.spawn(tick(name.clone(), truth.clone()).traced_as(&name));
    }
    sleep(Duration::from_secs(20));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
