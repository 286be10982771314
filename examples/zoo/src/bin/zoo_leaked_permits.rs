//! Requests on tokio take a permit of a pool for a moment, without waiting as long as there are
//! permits. Every tenth request leaks its permit, and requests after the last permit wait.

use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, announced, two_workers};
use tokio::sync::Semaphore;

const PERMITS: usize = 4;

static POOL: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(PERMITS));

async fn request(number: usize, truth: GroundTruth) {
    let waiting = truth.enter(&format!("request-{number}"), line!() + 1);
    let permit = announced(POOL.acquire(), ctp::Wait::user(1)).await;
    let permit = permit.expect("the pool is open");
    drop(waiting);
    tokio::time::sleep(Duration::from_millis(1)).await;
    if number % 10 == 9 {
        permit.forget();
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let (runtime, truth) = (two_workers()?, GroundTruth::new());
    let spawn = |number: usize| {
        let request = request(number, truth.clone());
        runtime.spawn(request.traced_as(&format!("request-{number}")))
    };
    for number in 0..10 * PERMITS {
        runtime.block_on(spawn(number)).expect("an exit status");
    }
    (40..60).for_each(|number| drop(spawn(number)));
    sleep(Duration::from_secs(3));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
