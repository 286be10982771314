//! A tokio program that ends tidily: its runtime drops all tasks when `main` returns. Three of them
//! hang in locks that the next one holds. The others wait for what may still come, and some were
//! cancelled long before.

use std::future::pending;
use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, Signal, TokioMutex, two_workers};
use tokio::sync::Barrier;

static KEYS: LazyLock<[TokioMutex<u64>; 3]> = LazyLock::new(Default::default);

async fn open(door: usize, all_there: Arc<Barrier>, truth: GroundTruth) {
    let _own = KEYS[door].lock().await;
    all_there.wait().await;
    let _waiting = truth.enter(&format!("guard-{door}"), line!() + 1);
    let _other = KEYS[(door + 1) % 3].lock().await;
}

async fn listen(signal: Signal) {
    for _ in 0..3 {
        signal.raised().await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let (all_there, truth) = (Arc::new(Barrier::new(3)), GroundTruth::new());
    let signals: Vec<Signal> = (0..4).map(|_| Signal::new()).collect();
    let cancelled = signals.iter().enumerate().map(|(i, signal)| {
        let listener = listen(signal.clone()).traced_as(&format!("cancelled-{i}"));
        runtime.spawn(listener)
    });
    let cancelled: Vec<_> = cancelled.collect();
    for door in 0..3 {
        let guard = open(door, Arc::clone(&all_there), truth.clone());
        runtime.spawn(guard.traced_as(&format!("guard-{door}")));
    }
    runtime.spawn(listen(Signal::new()).traced_as("listener"));
    runtime.spawn(pending::<()>().traced_as("forever"));
    let hourly = async { tokio::time::sleep(Duration::from_secs(3600)).await };
    runtime.spawn(hourly.traced_as("hourly"));
    sleep(Duration::from_millis(500));
    cancelled.iter().for_each(|task| task.abort());
    let worker = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    runtime.spawn(worker.traced_as("worker"));
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    Ok(())
}
