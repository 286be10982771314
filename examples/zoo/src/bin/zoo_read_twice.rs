//! A page on tokio reads the settings, and calls a function that reads them again. A reload waits in
//! between to write them, so the second read waits behind the reload, and the reload for the page.

use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioRwLock, two_workers};
use tokio::sync::Barrier;

static SETTINGS: LazyLock<TokioRwLock<u64>> = LazyLock::new(Default::default);

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

async fn page(together: Arc<Barrier>, truth: GroundTruth) {
    together.wait().await;
    let settings = SETTINGS.read().await;
    together.wait().await;
    pause(500).await;
    let _waiting = truth.enter("page", line!() + 1);
    let again = SETTINGS.read().await;
    assert_eq!(settings.value(), again.value());
}

async fn reload(together: Arc<Barrier>, truth: GroundTruth) {
    for _ in 0..10 {
        *SETTINGS.write().await.value() += 1;
        pause(1).await;
    }
    together.wait().await;
    together.wait().await;
    let _waiting = truth.enter("reload", line!() + 1);
    *SETTINGS.write().await.value() += 1;
}

async fn visit() {
    for _ in 0..10 {
        let settings = SETTINGS.read().await;
        pause(2).await;
        drop(settings);
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let (together, truth) = (Arc::new(Barrier::new(2)), GroundTruth::new());
    for i in 0..4 {
        runtime.spawn(visit().traced_as(&format!("visit-{i}")));
    }
    sleep(Duration::from_millis(200));
    runtime.spawn(reload(Arc::clone(&together), truth.clone()).traced_as("reload"));
    runtime.spawn(page(together, truth.clone()).traced_as("page"));
    sleep(Duration::from_millis(3000));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
