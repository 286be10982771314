//! Requests on tokio each take a second connection of a pool while they keep their first. One at a time,
//! they end. Then eight come at once: four keep a connection and wait for another, and four wait for their
//! first.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Barrier, Semaphore};

const CONNECTIONS: usize = 4;
/// So many requests come one after another before all others come at once.
const SINGLE: usize = 40;
const AT_ONCE: usize = 2 * CONNECTIONS;

async fn audit(pool: &Semaphore, name: &str, truth: &GroundTruth) {
    let waiting = truth.enter(name, line!() + 1);
    let _second = pool.acquire().await.expect("the pool is open");
    drop(waiting);
    tokio::time::sleep(Duration::from_millis(2)).await;
}

async fn request(pool: Arc<Semaphore>, start: Arc<Barrier>, name: String, truth: GroundTruth) {
    start.wait().await;
    let waiting = truth.enter(&name, line!() + 1);
    let _first = pool.acquire().await.expect("the pool is open");
    drop(waiting);
    tokio::time::sleep(Duration::from_millis(3)).await;
    audit(&pool, &name, &truth).await;
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let (runtime, truth) = (two_workers()?, GroundTruth::new());
    let pool = Arc::new(Semaphore::new(CONNECTIONS));
    let [alone, together] = [1, AT_ONCE].map(|requests| Arc::new(Barrier::new(requests)));
    for number in 0..SINGLE + AT_ONCE {
        let name = format!("request-{number}");
        let start = if number < SINGLE { &alone } else { &together };
        let request = request(pool.clone(), start.clone(), name.clone(), truth.clone());
        runtime.spawn(request.traced_as(&name));
        if number < SINGLE {
            sleep(Duration::from_millis(12));
        }
    }
    sleep(Duration::from_secs(5));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
