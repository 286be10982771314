//! Jobs on tokio end once a blocking call has. Two of the calls read a channel whose sender is kept, and never end.
//! Another task reads lines by blocking calls, until there are no more.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

const JOBS: u64 = 400;

async fn do_job(parts: Receiver<u64>, name: String, truth: GroundTruth) {
    let call = spawn_blocking(move || parts.iter().sum::<u64>());
    let _waiting = truth.enter(&name, line!() + 1);
    let _ = call.await;
}

async fn read_lines(lines: Receiver<u64>, truth: GroundTruth) {
    let mut lines = Some(lines);
    while let Some(source) = lines.take() {
        let call = spawn_blocking(move || source.recv().map(|_| source));
        let _waiting = truth.enter("reader", line!() + 1);
        lines = call.await.ok().and_then(Result::ok);
    }
}

async fn submit(truth: GroundTruth) {
    let mut kept = Vec::new();
    for number in 0..JOBS {
        let (sender, parts) = channel();
        let _ = sender.send(number);
        if number == 150 || number == 250 {
            kept.push(sender);
        }
        let name = format!("job-{number}");
        let job = do_job(parts, name.clone(), truth.clone());
        tokio::spawn(job.traced_as(&name));
        sleep(Duration::from_millis(4)).await;
    }
    std::mem::forget(kept);
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let (sender, lines) = channel();
    runtime.spawn(read_lines(lines, truth.clone()).traced_as("reader"));
    runtime.spawn(submit(truth.clone()).traced_as("intake"));
    for line in 0..100 {
        let _ = sender.send(line);
        std::thread::sleep(Duration::from_millis(5));
    }
    truth.let_wait(Duration::from_secs(4));
    truth.record(|name| name.starts_with("job"));
    // Stopping the runtime would cancel the coroutines of interest, and wait for the calls.
    std::process::exit(0)
}
