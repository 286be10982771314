//! Three tasks on tokio try to take a lock, with a timeout and again in a loop, as a fourth task does
//! that keeps it in the end. Two other tasks do the same with a lock of their own, which they release.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

async fn patient(lock: Arc<Mutex<u32>>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        let locked = timeout(Duration::from_millis(25), lock.lock()).await;
        if let Ok(mut count) = locked {
            *count += 1;
            sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn greedy(lock: Arc<Mutex<u32>>) {
    for _ in 0..80 {
        let mut count = lock.lock().await;
        *count += 1;
        sleep(Duration::from_millis(2)).await;
    }
    let _kept = lock.lock().await;
    loop {
        sleep(Duration::from_millis(5)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let lock = Arc::new(Mutex::new(0));
    for i in 0..3 {
        let name = format!("patient-{i}");
        let patient = patient(lock.clone(), name.clone(), truth.clone());
        runtime.spawn(patient.traced_as(&name));
    }
    let shared = Arc::new(Mutex::new(0));
    for i in 0..2 {
        let name = format!("modest-{i}");
        let modest = patient(shared.clone(), name.clone(), truth.clone());
        runtime.spawn(modest.traced_as(&name));
    }
    runtime.spawn(greedy(lock));
    truth.let_wait(Duration::from_secs(4));
    truth.record(|name| name.starts_with("patient"));
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
