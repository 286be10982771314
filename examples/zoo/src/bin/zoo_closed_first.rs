//! A scheduler that closes a pipe first, and resumes its reader some time later. At the end some
//! readers of closed pipes are still within that time.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

/// From a closing until its reader is resumed.
const LATER: Duration = Duration::from_millis(1500);

async fn read_all(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if pipe.read(Hangup::WakeLater(LATER)).await == 0 {
            return;
        }
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (toy, pipes, truth) = (
        Toy::new(Order::FirstCome, 2),
        Pipes::new(),
        GroundTruth::new(),
    );
    let mut writers = Vec::new();
    for i in 0..20 {
        let (pipe, writer) = pipes.pipe()?;
        let name = format!("reader-{i}");
        toy.spawn(&name, read_all(pipe, name.clone(), truth.clone()));
        writers.push(writer);
    }
    // A writer leaves each 150 ms.
    while let Some(_exited) = writers.pop() {
        for writer in &writers {
            rustix::io::write(writer, b"frame")?;
        }
        sleep(Duration::from_millis(150));
    }
    truth.record(|_| false);
    Ok(())
}
