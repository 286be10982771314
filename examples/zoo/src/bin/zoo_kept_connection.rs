//! Workers on tokio share a connection behind a lock. One of them keeps the lock while it waits for its turn in a
//! limiter, which another part of the program has used up, and which it never needed before. The other
//! workers wait for the lock. Workers of a second connection continue.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::sleep;

async fn call(
    connection: &Mutex<u64>,
    limiter: Option<&Semaphore>,
    name: &str,
    truth: &GroundTruth,
) {
    let waiting = truth.enter(name, line!() + 1);
    let mut calls = connection.lock().await;
    drop(waiting);
    *calls += 1;
    if let Some(limiter) = limiter {
        let _waiting = truth.enter("a-1", line!() + 1);
        let _turn = limiter.acquire().await;
    }
    sleep(Duration::from_millis(1)).await;
}

async fn work(
    connection: Arc<Mutex<u64>>,
    limiter: Arc<Semaphore>,
    name: String,
    truth: GroundTruth,
) {
    for round in 0.. {
        let needs_turn = name == "a-1" && round == 300;
        let limiter = Some(&*limiter).filter(|_| needs_turn);
        call(&connection, limiter, &name, &truth).await;
        sleep(Duration::from_millis(1)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let limiter = Arc::new(Semaphore::new(0));
    for group in ["a", "b"] {
        let connection = Arc::new(Mutex::new(0));
        for number in 1..4 {
            let name = format!("{group}-{number}");
            let work = work(
                connection.clone(),
                limiter.clone(),
                name.clone(),
                truth.clone(),
            );
            runtime.spawn(work.traced_as(&name));
        }
    }
    std::thread::sleep(Duration::from_secs(3));
    truth.let_wait(Duration::from_secs(3));
    truth.record_with_victims(|name| name == "a-1", |name| name.starts_with('a'));
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
