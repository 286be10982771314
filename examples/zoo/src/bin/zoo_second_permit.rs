//! Six workers on tokio share four permits, and take a second permit while they keep the first. As long as
//! three work at a time, this goes well. Then four workers wait for their second permit, and two for their
//! first. Meanwhile two other tasks wait for permits of a limiter, which a task refills: first often, then
//! once an hour.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// The rounds in which three workers work at a time.
const ROUNDS: u64 = 60;

async fn work(pool: Arc<Semaphore>, seats: Arc<Semaphore>, number: u64, truth: GroundTruth) {
    let name = format!("worker-{number}");
    for round in 0.. {
        let waiting = truth.enter(&name, line!() + 2);
        let seat = if round < ROUNDS {
            Some(seats.acquire().await.expect("there are seats"))
        } else {
            None
        };
        drop(waiting);
        let waiting = truth.enter(&name, line!() + 1);
        let _first = pool.acquire().await.expect("the pool is open");
        drop(waiting);
        // Later, all have their first permit before any takes its second.
        let short = Duration::from_millis(1 + (number + round) % 4);
        sleep(if round < ROUNDS { short } else { 10 * short }).await;
        let _waiting = truth.enter(&name, line!() + 1);
        let _second = pool.acquire().await.expect("the pool is open");
        sleep(Duration::from_millis(2)).await;
        drop(seat);
    }
}

async fn use_limited(limiter: Arc<Semaphore>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        let permit = limiter.acquire().await.expect("the limiter is open");
        permit.forget();
    }
}

async fn refill(limiter: Arc<Semaphore>) {
    for round in 0.. {
        limiter.add_permits(2);
        let is_busy = round < 300;
        sleep(Duration::from_millis(if is_busy { 3 } else { 3_600_000 })).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let pool = Arc::new(Semaphore::new(4));
    let seats = Arc::new(Semaphore::new(3));
    for number in 0..6 {
        let worker = work(pool.clone(), seats.clone(), number, truth.clone());
        runtime.spawn(worker.traced_as(&format!("worker-{number}")));
    }
    let limiter = Arc::new(Semaphore::new(0));
    for number in 0..2 {
        let name = format!("limited-{number}");
        let limited = use_limited(limiter.clone(), name.clone(), truth.clone());
        runtime.spawn(limited.traced_as(&name));
    }
    runtime.spawn(refill(limiter).traced_as("refill"));
    std::thread::sleep(Duration::from_secs(6));
    truth.record(|name| name.starts_with("worker"));
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
