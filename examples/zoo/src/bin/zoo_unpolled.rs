//! A task stops polling a future that holds a lock, and then wants the lock. The future is a
//! coroutine of its own: it is woken, and not polled.

use std::pin::pin;
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, Signal, TokioMutex, two_workers};

static LOCK: LazyLock<TokioMutex<u64>> = LazyLock::new(Default::default);

async fn work(signal: Signal, truth: GroundTruth) {
    let mut held = LOCK.lock().await;
    let _waiting = truth.enter("work", line!() + 1);
    signal.raised().await;
    *held.value() += 1;
}

async fn keep(signal: Signal, truth: GroundTruth) {
    let mut working = pin!(work(signal, truth.clone()).traced_as("work"));
    tokio::select! {
        () = &mut working => {}
        () = tokio::time::sleep(Duration::from_millis(20)) => {
            let _waiting = truth.enter("keeper", line!() + 1);
            *LOCK.lock().await.value() += 1;
        }
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let (signal, truth) = (Signal::new(), GroundTruth::new());
    let blocker = keep(signal.clone(), truth.clone());
    runtime.spawn(blocker.traced_as("keeper"));
    sleep(Duration::from_millis(500));
    signal.raise();
    sleep(Duration::from_millis(2000));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
