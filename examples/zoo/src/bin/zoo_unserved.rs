//! Two tasks read from a pipe with room for a single waiter: the second replaces the first. Bytes
//! come all the time, and the first is never woken.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

async fn read_all(pipe: Arc<Pipe>, name: &'static str, reads: Arc<AtomicU64>, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(name, line!() + 1);
        pipe.read(Hangup::Wake).await;
        reads.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (toy, pipes, truth) = (
        Toy::new(Order::FirstCome, 2),
        Pipes::new(),
        GroundTruth::new(),
    );
    let (pipe, writer) = pipes.pipe()?;
    let mut reads = BTreeMap::new();
    for name in ["first", "second"] {
        let count = Arc::new(AtomicU64::new(0));
        reads.insert(name, Arc::clone(&count));
        toy.spawn(
            name,
            read_all(Arc::clone(&pipe), name, count, truth.clone()),
        );
        sleep(Duration::from_millis(200));
    }
    for _ in 0..500 {
        rustix::io::write(&writer, b"frame")?;
        sleep(Duration::from_millis(5));
    }
    truth.record(|name| reads[name].load(Ordering::Relaxed) == 0);
    Ok(())
}
