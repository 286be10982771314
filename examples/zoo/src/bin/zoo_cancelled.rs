//! Tasks that are dropped while they wait, some of them for what was closed before.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

async fn read_all(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if pipe.read(Hangup::Forget).await == 0 {
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
    let (mut tasks, mut writers) = (Vec::new(), Vec::new());
    for i in 0..20 {
        let (pipe, writer) = pipes.pipe()?;
        let name = format!("cancelled-{i}");
        tasks.push(toy.spawn(&name, read_all(pipe, name.clone(), truth.clone())));
        writers.push(writer);
    }
    for _ in 0..20 {
        for writer in &writers {
            rustix::io::write(writer, b"frame")?;
        }
        sleep(Duration::from_millis(10));
    }
    writers.truncate(10);
    sleep(Duration::from_millis(200));
    tasks.iter().for_each(|task| task.cancel());
    sleep(Duration::from_millis(2000));
    truth.record(|_| false);
    Ok(())
}
