//! Six workers on tokio share a queue, and keep its lock while they wait for the next job. `main` sends
//! a job each millisecond, and then no more.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Mutex, mpsc};
use tokio::time::sleep;

type Queue = Arc<Mutex<mpsc::Receiver<u32>>>;

async fn work(queue: Queue, name: String, truth: GroundTruth) {
    loop {
        let waiting = truth.enter(&name, line!() + 1);
        let job = queue.lock().await.recv().await;
        drop(waiting);
        if job.is_none() {
            return;
        }
        sleep(Duration::from_millis(3)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let (jobs, queue) = mpsc::channel(8);
    let queue = Arc::new(Mutex::new(queue));
    for number in 0..6 {
        let name = format!("worker-{number}");
        let worker = work(queue.clone(), name.clone(), truth.clone());
        runtime.spawn(worker.traced_as(&name));
    }
    for job in 0..600 {
        jobs.blocking_send(job).expect("there are workers");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_secs(5));
    truth.record(|_| false);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget((runtime, jobs));
    Ok(())
}
