//! An intake on tokio takes a permit of a pool for each job. A job gives its permit back when it is done, but jobs that
//! fail lose theirs. In the end the intake waits, and all of its jobs have ended: only the intake itself could
//! start more. With the argument `careful`, jobs that fail give their permits back too.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;

const PERMITS: usize = 4;

async fn run_job(pool: Arc<Semaphore>, fails: bool) {
    sleep(Duration::from_millis(10)).await;
    if !fails {
        pool.add_permits(1);
    }
}

async fn take_in(is_lossy: bool, mut more: mpsc::Receiver<u64>, truth: GroundTruth) {
    let pool = Arc::new(Semaphore::new(PERMITS));
    for number in 0..600 {
        let waiting = truth.enter("intake", line!() + 1);
        let permit = pool.acquire().await;
        drop(waiting);
        permit.expect("the pool is open").forget();
        let job = run_job(pool.clone(), is_lossy && number % 50 == 49);
        tokio::spawn(job.traced_as("job"));
    }
    let _waiting = truth.enter("intake", line!() + 1);
    more.recv().await;
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let is_lossy = std::env::args().nth(1).as_deref() != Some("careful");
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let (sender, more) = mpsc::channel(1);
    let intake = take_in(is_lossy, more, truth.clone());
    runtime.spawn(intake.traced_as("intake"));
    std::thread::sleep(Duration::from_secs(3));
    truth.let_wait(Duration::from_secs(3));
    truth.record(|_| is_lossy);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget((runtime, sender));
    Ok(())
}
