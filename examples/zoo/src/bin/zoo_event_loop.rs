//! Three clients on tokio each run an event loop that empties its queue of requests, takes a batch of
//! messages from a network, and answers them by requests in that queue. A large batch fills the queue: the
//! client waits for room that only itself could make. A fourth client gets no such batch.

use std::io;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::time::sleep;

/// Room in the queue of requests.
const ROOM: usize = 8;

/// Batches before the large one.
const BATCHES: u32 = 100;

async fn run_client(name: String, mut network: UnboundedReceiver<u32>, truth: GroundTruth) {
    let (requests, mut queue) = channel(ROOM);
    while let Some(batch) = network.recv().await {
        for message in 0..batch {
            let _waiting = truth.enter(&name, line!() + 1);
            let _ = requests.send(message).await;
        }
        while queue.try_recv().is_ok() {}
    }
}

async fn run_network(client: UnboundedSender<u32>, has_large: bool) {
    for round in 0.. {
        let is_large = has_large && round == BATCHES;
        let batch = if is_large { 30 } else { 1 };
        if client.send(batch).is_err() {
            return;
        }
        sleep(Duration::from_millis(3)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    for number in 0..4 {
        let (to_client, network) = unbounded_channel();
        let name = format!("client-{number}");
        let client = run_client(name.clone(), network, truth.clone());
        runtime.spawn(client.traced_as(&name));
        runtime.spawn(run_network(to_client, number < 3).traced_as("network"));
    }
    std::thread::sleep(Duration::from_secs(5));
    truth.record(|name| name != "client-3");
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
