//! Requests on tokio load settings into cells, each at its first use. Loading `limits` needs `quota`, and loading `quota`
//! needs `limits`. So the first request waits for its own initialization, and the others wait for the first. The cells of
//! `pages` are loaded without a fault.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::OnceCell;
use tokio::time::sleep;

const REQUESTS: usize = 4;

#[derive(Default)]
struct Settings {
    limits: OnceCell<u32>,
    quota: OnceCell<u32>,
    pages: [OnceCell<u32>; 32],
    truth: GroundTruth,
}

async fn limits(settings: &Arc<Settings>, name: &str) -> u32 {
    let load = || load_limits(settings, name);
    let _waiting = settings.truth.enter(name, line!() + 1);
    *settings.limits.get_or_init(load).await
}

async fn load_limits(settings: &Arc<Settings>, name: &str) -> u32 {
    sleep(Duration::from_millis(2)).await;
    Box::pin(quota(settings, name)).await * 2
}

async fn quota(settings: &Arc<Settings>, name: &str) -> u32 {
    let load = || async { limits(settings, name).await / 2 };
    *settings.quota.get_or_init(load).await
}

async fn page(settings: &Settings, number: usize) {
    let load = || async {
        sleep(Duration::from_millis(5)).await;
        1
    };
    settings.pages[number].get_or_init(load).await;
}

async fn request(settings: Arc<Settings>, name: String) {
    for number in 0..settings.pages.len() {
        page(&settings, number).await;
    }
    sleep(Duration::from_millis(200)).await;
    limits(&settings, &name).await;
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let settings = Arc::new(Settings::default());
    let runtime = two_workers()?;
    for number in 0..REQUESTS {
        let name = format!("request-{number}");
        let request = request(settings.clone(), name.clone());
        runtime.spawn(request.traced_as(&name));
    }
    runtime.spawn(ticks().traced_as("ticks"));
    settings.truth.let_wait(Duration::from_secs(4));
    settings.truth.record(|_| true);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}

async fn ticks() {
    loop {
        sleep(Duration::from_millis(20)).await;
    }
}
