//! A sender on tokio waits for room in the queue of a connection. The connection has stopped reading its queue after
//! an error, and waits to be shut down, which no other part of the program does. A second connection
//! sleeps for an hour after its error, and will go on.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

/// Messages before the error.
const MESSAGES: u64 = 300;

async fn connect(mut queue: mpsc::Receiver<u64>, shutdown: Option<Arc<Notify>>) {
    loop {
        let message = queue.recv().await;
        if message != Some(MESSAGES) {
            continue;
        }
        match &shutdown {
            Some(shutdown) => shutdown.notified().await,
            None => sleep(Duration::from_secs(3600)).await,
        }
    }
}

async fn send(queue: mpsc::Sender<u64>, name: &str, truth: GroundTruth) {
    for message in 0.. {
        let waiting = truth.enter(name, line!() + 1);
        let sent = queue.send(message).await;
        drop(waiting);
        sent.expect("the connection is kept");
        sleep(Duration::from_millis(2)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let shutdown = Arc::new(Notify::new());
    for (name, connection, shutdown) in [
        ("sender-lost", "connection-lost", Some(shutdown.clone())),
        ("sender-waits", "connection-sleeps", None),
    ] {
        let (sender, queue) = mpsc::channel(8);
        runtime.spawn(connect(queue, shutdown).traced_as(connection));
        runtime.spawn(send(sender, name, truth.clone()).traced_as(name));
    }
    std::thread::sleep(Duration::from_secs(3));
    truth.let_wait(Duration::from_secs(3));
    truth.record(|name| name == "sender-lost");
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget((runtime, shutdown));
    Ok(())
}
