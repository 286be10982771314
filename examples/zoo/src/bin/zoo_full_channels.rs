//! A crawler on tokio. A fetcher takes addresses from a queue and passes pages to a parser, which puts
//! the addresses that it finds back into the queue. Once the pages have many of them, both queues are
//! full, and each of the two waits for room that only the other could make. A printer behind a channel
//! of its own goes on.

use std::io;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::sleep;

/// Room in the queue of addresses, and in that of pages.
const ROOM: usize = 16;

/// Pages before the site becomes large.
const SMALL_PAGES: u32 = 100;

async fn fetch(mut addresses: Receiver<u32>, pages: Sender<u32>, truth: GroundTruth) {
    while let Some(address) = addresses.recv().await {
        sleep(Duration::from_millis(1)).await;
        let waiting = truth.enter("fetch", line!() + 1);
        let sent = pages.send(address).await;
        drop(waiting);
        if sent.is_err() {
            return;
        }
    }
}

async fn parse(mut pages: Receiver<u32>, addresses: Sender<u32>, truth: GroundTruth) {
    let mut parsed = 0;
    while let Some(page) = pages.recv().await {
        parsed += 1;
        let found = if parsed < SMALL_PAGES { 1 } else { 40 };
        for address in 0..found {
            let waiting = truth.enter("parse", line!() + 1);
            let sent = addresses.send(page + address).await;
            drop(waiting);
            if sent.is_err() {
                return;
            }
        }
    }
}

async fn count(ticks: Sender<u32>, truth: GroundTruth) {
    for tick in 0.. {
        let waiting = truth.enter("count", line!() + 1);
        let sent = ticks.send(tick).await;
        drop(waiting);
        if sent.is_err() {
            return;
        }
    }
}

async fn print(mut ticks: Receiver<u32>) {
    while ticks.recv().await.is_some() {
        sleep(Duration::from_millis(5)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let (to_fetch, addresses) = channel(ROOM);
    let (to_parse, pages) = channel(ROOM);
    let (to_print, ticks) = channel(1);
    to_fetch.blocking_send(0).expect("the queue is empty");
    runtime.spawn(fetch(addresses, to_parse, truth.clone()).traced_as("fetch"));
    runtime.spawn(parse(pages, to_fetch, truth.clone()).traced_as("parse"));
    runtime.spawn(count(to_print, truth.clone()).traced_as("count"));
    runtime.spawn(print(ticks).traced_as("print"));
    std::thread::sleep(Duration::from_secs(4));
    truth.record(|name| name != "count");
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
