//! Nine tasks read from pipes with constant traffic. The pipes of three others are closed without a
//! report as soon as their readers begin to wait, long before anything outside looks at them.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

async fn read_all(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if pipe.read(Hangup::ForgetUnrecorded).await == 0 {
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
    for i in 0..12 {
        let (pipe, writer) = pipes.pipe()?;
        let name = format!("{}-{i}", if i < 9 { "kept" } else { "forgotten" });
        toy.spawn(&name, read_all(pipe, name.clone(), truth.clone()));
        writers.push(writer);
    }
    for round in 0..500 {
        for writer in &writers {
            rustix::io::write(writer, b"frame")?;
        }
        sleep(Duration::from_millis(10));
        if round == 100 {
            writers.truncate(9);
        }
    }
    truth.record(|name| name.starts_with("forgotten"));
    Ok(())
}
