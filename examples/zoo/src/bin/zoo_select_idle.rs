//! Tasks on tokio receive orders in a `select!` beside a tick. After some orders, no more come.

use std::io;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::mpsc;
use tokio::time::{interval, sleep};

async fn receiver(mut orders: mpsc::Receiver<u32>, name: String, truth: GroundTruth) {
    let mut tick = interval(Duration::from_millis(50));
    let mut received = 0;
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        tokio::select! {
            order = orders.recv() => received += order.unwrap_or(0),
            _ = tick.tick() => received = received.saturating_sub(1),
        }
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let mut senders = Vec::new();
    for number in 0..2 {
        let (sender, orders) = mpsc::channel(4);
        let name = format!("receiver-{number}");
        let receiver = receiver(orders, name.clone(), truth.clone());
        runtime.spawn(receiver.traced_as(&name));
        senders.push(sender);
    }
    runtime.block_on(async {
        for order in 0..60 {
            let sender = &senders[order as usize % 2];
            sender.send(order).await.expect("a receiver");
            sleep(Duration::from_millis(4)).await;
        }
    });
    std::thread::sleep(Duration::from_secs(4));
    truth.record(|_| false);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget((runtime, senders));
    Ok(())
}
