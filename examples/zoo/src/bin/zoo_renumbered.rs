//! Nine tasks read from pipes. Six pipes get another number and their old number is closed: three
//! readers are resumed by the new number, three are forgotten. The pipes themselves are still open,
//! so no closing is certain.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

async fn read_all(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if pipe.read(Hangup::Wake).await == 0 {
            return;
        }
    }
}

async fn read_once(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    let _waiting = truth.enter(&name, line!() + 1);
    pipe.read(Hangup::Wake).await;
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (toy, pipes, truth) = (
        Toy::new(Order::FirstCome, 2),
        Pipes::new(),
        GroundTruth::new(),
    );
    let mut all = Vec::new();
    for i in 0..9 {
        let (pipe, writer) = pipes.pipe()?;
        let name = format!("{}-{i}", ["kept", "resumed", "forgotten"][i / 3]);
        let (reader, truth) = (Arc::clone(&pipe), truth.clone());
        match i {
            3..6 => toy.spawn(&name, read_once(reader, name.clone(), truth)),
            _ => toy.spawn(&name, read_all(reader, name.clone(), truth)),
        };
        all.push((pipe, writer));
    }
    for round in 0..700 {
        for (_, writer) in &all[..3] {
            rustix::io::write(writer, b"frame")?;
        }
        sleep(Duration::from_millis(10));
        if round == 300 {
            all[6..].iter().for_each(|(pipe, _)| pipes.lose(pipe));
            all[3..].iter().try_for_each(|(pipe, _)| pipe.renumber())?;
        }
    }
    for (_, writer) in &all[3..] {
        rustix::io::write(writer, b"frame")?;
    }
    sleep(Duration::from_millis(100)); // so that the watched readers continue
    truth.record(|name| name.starts_with("forgotten"));
    Ok(())
}
