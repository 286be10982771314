//! Four sessions on tokio receive messages from their clients, in a `select!` beside a tick. One client
//! falls silent, and the others go on.

use std::io;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::mpsc;
use tokio::time::{interval, sleep};

async fn session(mut messages: mpsc::Receiver<u32>, name: String, truth: GroundTruth) {
    let mut tick = interval(Duration::from_millis(40));
    let mut received = 0;
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        tokio::select! {
            message = messages.recv() => received += message.unwrap_or(0),
            _ = tick.tick() => received = received.saturating_sub(1),
        }
    }
}

async fn client(session: mpsc::Sender<u32>, falls_silent: bool) {
    for round in 0.. {
        if session.send(1).await.is_err() {
            return;
        }
        let is_silent = falls_silent && round >= 200;
        sleep(Duration::from_millis(if is_silent { 3_600_000 } else { 4 })).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    for number in 0..4 {
        let (sender, messages) = mpsc::channel(4);
        let name = format!("session-{number}");
        let session = session(messages, name.clone(), truth.clone());
        runtime.spawn(session.traced_as(&name));
        let client = client(sender, number == 1);
        runtime.spawn(client.traced_as(&format!("client-{number}")));
    }
    std::thread::sleep(Duration::from_secs(5));
    truth.record(|_| false);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
