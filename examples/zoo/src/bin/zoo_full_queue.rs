//! Six workers on tokio share a queue, which is filled before they start. Each decodes the job before it
//! releases the lock of the queue. A worker forgets the guard of the lock, and all workers wait for it.
//! With `idle`, no worker forgets it. After the last job, one of them keeps the lock and waits for a job,
//! as no worker has before.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Mutex, mpsc};
use tokio::time::sleep;

type Queue = Arc<Mutex<mpsc::UnboundedReceiver<u32>>>;

/// The job whose worker forgets the guard.
const FORGOTTEN: u32 = 6000;

async fn work(queue: Queue, name: String, truth: GroundTruth, forgets: bool) {
    loop {
        let waiting = truth.enter(&name, line!() + 1);
        let mut queue = queue.lock().await;
        let Some(job) = queue.recv().await else {
            return;
        };
        drop(waiting);
        let decoded = Instant::now() + Duration::from_micros(20);
        while Instant::now() < decoded {
            std::hint::spin_loop();
        }
        if forgets && job == FORGOTTEN {
            std::mem::forget(queue);
        } else {
            drop(queue);
        }
        sleep(Duration::from_millis(1)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let forgets = std::env::args().all(|argument| argument != "idle");
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let (jobs, queue) = mpsc::unbounded_channel();
    let queue: Queue = Arc::new(Mutex::new(queue));
    (0..12_000).for_each(|job| jobs.send(job).expect("the queue is open"));
    for number in 0..6 {
        let name = format!("worker-{number}");
        let worker = work(queue.clone(), name.clone(), truth.clone(), forgets);
        runtime.spawn(worker.traced_as(&name));
    }
    truth.let_wait(Duration::from_secs(6));
    truth.record(|_| forgets);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget((runtime, jobs));
    Ok(())
}
