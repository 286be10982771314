//! A backup on tokio reads a table for a long time, as it should, and writers wait for it. The
//! readers of a second table, which also has a backup, do not report what they hold.

use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioRwLock, two_workers};

static TABLES: LazyLock<[TokioRwLock<u64>; 2]> = LazyLock::new(Default::default);

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

async fn back_up(truth: GroundTruth) {
    pause(200).await;
    let _rows = TABLES[0].read().await;
    let _waiting = truth.enter("backup", line!() + 1);
    pause(60_000).await;
}

async fn back_up_silently(truth: GroundTruth) {
    pause(200).await;
    let _rows = TABLES[1].read_silently().await;
    let _waiting = truth.enter("silent", line!() + 1);
    pause(60_000).await;
}

async fn write(name: String, table: usize, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        *TABLES[table].write().await.value() += 1;
        pause(3).await;
    }
}

async fn read(name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        let _row = *TABLES[0].read().await.value();
        pause(1).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let truth = GroundTruth::new();
    runtime.spawn(back_up(truth.clone()).traced_as("backup"));
    runtime.spawn(back_up_silently(truth.clone()).traced_as("silent"));
    for i in 0..2 {
        let name = format!("writer-{i}");
        runtime.spawn(write(name.clone(), i, truth.clone()).traced_as(&name));
        let name = format!("reader-{i}");
        runtime.spawn(read(name.clone(), truth.clone()).traced_as(&name));
    }
    sleep(Duration::from_millis(3000));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
