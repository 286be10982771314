//! Twelve tasks read from pipes. The writers of six leave: three readers are woken and end; the
//! pipes of the three others are closed, and their readers are not resumed.

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
        0..6 => ("kept", Hangup::Forget),
        6..9 => ("told", Hangup::Wake),
        _ => ("forgotten", Hangup::Forget),
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
    truth.record(|name| name.starts_with("forgotten"));
    Ok(())
}
