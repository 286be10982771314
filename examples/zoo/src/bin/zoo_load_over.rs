//! A service on tokio after its load has stopped: four handlers get requests and pass them on to a
//! worker, which replies. After a while there are no more requests, and all wait, as they should.

use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{mpsc, oneshot};

type Job = (u64, oneshot::Sender<u64>);

async fn work(mut jobs: mpsc::Receiver<Job>, truth: GroundTruth) {
    loop {
        let waiting = truth.enter("worker", line!() + 1);
        let job = jobs.recv().await;
        drop(waiting);
        let Some((number, reply)) = job else {
            return;
        };
        let _ = reply.send(number + 1);
    }
}

async fn handle(
    name: String,
    mut requests: mpsc::Receiver<u64>,
    worker: mpsc::Sender<Job>,
    truth: GroundTruth,
) {
    loop {
        let waiting = truth.enter(&name, line!() + 1);
        let request = requests.recv().await;
        drop(waiting);
        let Some(request) = request else {
            return;
        };
        let (reply, replied) = oneshot::channel();
        if worker.send((request, reply)).await.is_err() {
            return;
        }
        let _ = replied.await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let (runtime, truth) = (two_workers()?, GroundTruth::new());
    let (to_worker, jobs) = mpsc::channel(4);
    runtime.spawn(work(jobs, truth.clone()).traced_as("worker"));
    let mut clients = Vec::new();
    for i in 0..4 {
        let (client, requests) = mpsc::channel(4);
        let name = format!("handler-{i}");
        let handler = handle(name.clone(), requests, to_worker.clone(), truth.clone());
        runtime.spawn(handler.traced_as(&name));
        clients.push(client);
    }
    for request in 0..400 {
        for client in &clients {
            let _ = client.blocking_send(request);
        }
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(3500));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
