//! Requests on tokio share the permits of a pool. Requests that fail forget their permit, until all later
//! requests wait. Meanwhile nothing else happens in the program.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::Semaphore;

const PERMITS: usize = 4;

#[derive(Debug)]
struct Failed;

async fn serve(number: usize) -> Result<(), Failed> {
    tokio::time::sleep(Duration::from_millis(3)).await;
    if number % 40 == 39 {
        Err(Failed)
    } else {
        Ok(())
    }
}

async fn request(pool: Arc<Semaphore>, number: usize, truth: GroundTruth) -> Result<(), Failed> {
    let waiting = truth.enter(&format!("request-{number}"), line!() + 1);
    let permit = pool.acquire().await.expect("the pool is open");
    drop(waiting);
    permit.forget();
    serve(number).await?;
    pool.add_permits(1);
    Ok(())
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let (runtime, truth) = (two_workers()?, GroundTruth::new());
    let pool = Arc::new(Semaphore::new(PERMITS));
    for number in 0..200 {
        let request = request(pool.clone(), number, truth.clone());
        runtime.spawn(request.traced_as(&format!("request-{number}")));
    }
    sleep(Duration::from_secs(8));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
