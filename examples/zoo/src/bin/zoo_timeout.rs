//! Tasks on tokio read from pipes, each with an unreported timeout. Six pipes are closed without a
//! wake: three readers continue at their timeout, which for the three others is in an hour.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, Hangup, Pipe, Pipes, two_workers};
use tokio::time::timeout;

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(500);

async fn read_all(pipe: Arc<Pipe>, limit: Duration, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        let read = timeout(limit, pipe.read(Hangup::Forget));
        if !matches!(read.await, Ok(1..)) {
            return;
        }
    }
}

/// Readers with a writer to the end, and forgotten readers.
fn fate(i: usize) -> (&'static str, Duration) {
    match i {
        0..6 => ("kept", HOUR),
        6..9 => ("brief", SOON),
        _ => ("patient", HOUR),
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let runtime = two_workers()?;
    let (pipes, truth) = (Pipes::new(), GroundTruth::new());
    let mut writers = Vec::new();
    for i in 0..12 {
        let (pipe, writer) = pipes.pipe()?;
        let (fate, limit) = fate(i);
        let name = format!("{fate}-{i}");
        let task = read_all(pipe, limit, name.clone(), truth.clone());
        runtime.spawn(task.traced_as(&name));
        writers.push(writer);
    }
    for round in 0..250 {
        for writer in &writers {
            rustix::io::write(writer, b"frame")?;
        }
        sleep(Duration::from_millis(10));
        if round == 20 {
            sleep(Duration::from_millis(50)); // so that all bytes are read
            writers.truncate(6);
        }
    }
    truth.record(|name| name.starts_with("patient"));
    // Exits without cancelling tasks.
    std::process::exit(0)
}
