//! Six tasks read from pipes, of which three are quiet. Then the main thread gets its own table of
//! descriptors, and closes the quiet pipes there. The readers' threads still have them open, so
//! they wait as they should.
#![allow(
    unsafe_code,
    reason = "nothing else separates tables, or closes in one what is owned in another"
)]

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};
use rustix::thread::{UnshareFlags, unshare_unsafe};

async fn read_all(pipe: Arc<Pipe>) {
    while pipe.read(Hangup::Wake).await > 0 {}
}

async fn read_once(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    let _waiting = truth.enter(&name, line!() + 1);
    pipe.read(Hangup::Wake).await;
}

fn close_in_own_table(pipes: &[Arc<Pipe>]) -> io::Result<()> {
    // SAFETY: this thread and the others use none of each other's later descriptors.
    unsafe { unshare_unsafe(UnshareFlags::FILES)? };
    for pipe in pipes {
        // SAFETY: no owner of these numbers is ever used, or dropped, by this thread; in the table
        // of the others they stay open.
        unsafe { rustix::io::close(pipe.number()) };
    }
    Ok(())
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (toy, pipes, truth) = (
        Toy::new(Order::FirstCome, 2),
        Pipes::new(),
        GroundTruth::new(),
    );
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for i in 0..6 {
        let (pipe, writer) = pipes.pipe()?;
        let reader = Arc::clone(&pipe);
        let name = format!("{}-{i}", if i < 3 { "busy" } else { "quiet" });
        match i {
            0..3 => toy.spawn(&name, read_all(reader)),
            _ => toy.spawn(&name, read_once(reader, name.clone(), truth.clone())),
        };
        readers.push(pipe);
        writers.push(writer);
    }
    for round in 0..600 {
        for writer in &writers[..3] {
            rustix::io::write(writer, b"frame")?;
        }
        sleep(Duration::from_millis(10));
        if round == 200 {
            close_in_own_table(&readers)?;
        }
    }
    truth.record(|_| false);
    std::mem::forget(readers); // their numbers are closed here
    Ok(())
}
