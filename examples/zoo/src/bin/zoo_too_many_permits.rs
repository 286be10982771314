//! Requests on tokio take a permit of a pool, and a cleaner takes all permits now and then. At last it wants more
//! than there are: the pool is fair, so that all requests wait behind the cleaner. With the argument `modest`,
//! the cleaner always wants as many as there are.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::Semaphore;
use tokio::time::sleep;

const PERMITS: u32 = 4;

async fn request(pool: Arc<Semaphore>, name: String, truth: GroundTruth) {
    let waiting = truth.enter(&name, line!() + 1);
    let permit = pool.acquire().await;
    drop(waiting);
    sleep(Duration::from_millis(3)).await;
    drop(permit);
}

async fn clean(pool: Arc<Semaphore>, at_last: u32, truth: GroundTruth) {
    for round in 1..=30 {
        sleep(Duration::from_millis(40)).await;
        let permits_needed = if round == 30 { at_last } else { PERMITS };
        let waiting = truth.enter("cleaner", line!() + 1);
        let permits = pool.acquire_many(permits_needed).await;
        drop(waiting);
        sleep(Duration::from_millis(2)).await;
        drop(permits);
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let is_modest = std::env::args().nth(1).as_deref() == Some("modest");
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let pool = Arc::new(Semaphore::new(PERMITS as usize));
    let at_last = if is_modest { PERMITS } else { PERMITS + 1 };
    let cleaner = clean(pool.clone(), at_last, truth.clone());
    runtime.spawn(cleaner.traced_as("cleaner"));
    for number in 0..500 {
        let name = format!("request-{number}");
        let request = request(pool.clone(), name.clone(), truth.clone());
        runtime.spawn(request.traced_as(&name));
        std::thread::sleep(Duration::from_millis(4));
    }
    truth.let_wait(Duration::from_secs(4));
    truth.record(|_| !is_modest);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
