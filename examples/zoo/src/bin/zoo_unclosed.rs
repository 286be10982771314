//! Twelve tasks read from pipes, some of which are quiet for a long time. Then the writers of six pipes leave.
//! Three of the readers are woken and end. The other three are not: their pipes are closed, but the
//! program does not record this, and nothing resumes the readers.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

async fn read_all(pipe: Arc<Pipe>, hangup: Hangup, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if pipe.read(hangup).await == 0 {
            return;
        }
    }
}

/// Readers with a writer to the end, readers that are woken, and forgotten readers.
fn fate(i: usize) -> (&'static str, Hangup) {
    match i {
        0..6 => ("kept", Hangup::ForgetUnrecorded),
        6..9 => ("told", Hangup::Wake),
        _ => ("forgotten", Hangup::ForgetUnrecorded),
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
    for i in 0..12 {
        let (pipe, writer) = pipes.pipe()?;
        let (fate, hangup) = fate(i);
        let name = format!("{fate}-{i}");
        toy.spawn(&name, read_all(pipe, hangup, name.clone(), truth.clone()));
        writers.push(writer);
    }
    for round in 0..700 {
        for writer in writers.iter().take(6) {
            rustix::io::write(writer, b"frame")?;
        }
        sleep(Duration::from_millis(10));
        if round == 300 {
            writers.truncate(6);
        }
    }
    truth.record(|name| name.starts_with("forgotten"));
    Ok(())
}
