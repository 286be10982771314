//! Crawlers on tokio load pages, several at a time, and store each page. Loading and storing take a permit. Two
//! crawlers load more pages at a time than there are permits: a page in the buffer, which is polled only between
//! stores, gets the permit for which the crawler itself waits. A thrifty crawler always leaves a permit. A gate
//! lets its visitors in once an hour.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use futures::StreamExt as _;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// The rounds in which all crawlers leave a permit.
const ROUNDS: u64 = 40;

async fn load(limit: Arc<Semaphore>, page: u64) {
    let _permit = limit.acquire().await.expect("the limit is open");
    sleep(Duration::from_millis(1 + page % 3)).await;
}

async fn crawl(name: String, is_thrifty: bool, truth: GroundTruth) {
    let limit = Arc::new(Semaphore::new(3));
    for round in 0.. {
        let width = if is_thrifty || round < ROUNDS { 2 } else { 8 };
        let pages = futures::stream::iter(0..12).map(|page| load(limit.clone(), page));
        let mut pages = std::pin::pin!(pages.buffer_unordered(width));
        while let Some(()) = pages.next().await {
            let _waiting = truth.enter(&name, line!() + 1);
            let _permit = limit.acquire().await.expect("the limit is open");
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_millis(3)).await;
    }
}

async fn visit(gate: Arc<Semaphore>, truth: GroundTruth) {
    for _ in 0..200 {
        sleep(Duration::from_millis(4)).await;
    }
    let _waiting = truth.enter("visitor", line!() + 1);
    let _permit = gate.acquire().await.expect("the gate is there");
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    for number in 0..3 {
        let name = format!("crawler-{number}");
        let crawler = crawl(name.clone(), number == 2, truth.clone());
        runtime.spawn(crawler.traced_as(&name));
    }
    let gate = Arc::new(Semaphore::new(0));
    runtime.spawn(visit(gate.clone(), truth.clone()).traced_as("visitor"));
    let opener = async move {
        sleep(Duration::from_secs(3600)).await;
        gate.add_permits(1);
    };
    runtime.spawn(opener.traced_as("opener"));
    std::thread::sleep(Duration::from_secs(5));
    truth.let_wait(Duration::from_secs(3));
    truth.record(|name| name == "crawler-0" || name == "crawler-1");
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
