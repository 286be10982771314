//! Tasks on tokio poll several futures at once, with separate wakers. In one task a future waits
//! for a lock while others continue, so it blocks nothing for ever. In another the only future that
//! could continue sleeps for an hour, with a lock that the holder of the first lock wants.
//! Listeners wait for what never comes, or for an hour.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, Mutex, Signal, TokioHeld, TokioMutex, channel, two_workers};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::Barrier;

const HOUR: Duration = Duration::from_secs(3600);
const STEP: Duration = Duration::from_millis(5);

/// Two for each pair that blocks each other.
static LOCKS: LazyLock<[[TokioMutex<u64>; 2]; 2]> = LazyLock::new(Default::default);

type Held = TokioHeld<'static, u64>;
type Part = Pin<Box<dyn Future<Output = ()> + Send>>;
type Parts = FuturesUnordered<Part>;

/// Holds the second lock; one part continues with it, step by step, and another part wants the
/// first.
async fn crawl(pair: usize, step: Duration, seated: Arc<Barrier>, truth: GroundTruth) {
    let held = LOCKS[pair][1].lock().await;
    seated.wait().await;
    let parts = Parts::new();
    parts.push(Box::pin(go_on(held, step)));
    parts.push(Box::pin(want(pair, truth)));
    parts.collect::<()>().await;
}

async fn go_on(mut held: Held, step: Duration) {
    loop {
        tokio::time::sleep(step).await;
        *held.value() += 1;
    }
}

/// After the other part was polled.
async fn want(pair: usize, truth: GroundTruth) {
    tokio::time::sleep(10 * STEP).await;
    let _waiting = truth.enter(&format!("crawler-{pair}"), line!() + 1);
    *LOCKS[pair][0].lock().await.value() += 1;
}

/// Has the first lock, and wants the second.
async fn keep(pair: usize, seated: Arc<Barrier>, truth: GroundTruth) {
    let mut first = LOCKS[pair][0].lock().await;
    seated.wait().await;
    let _waiting = truth.enter(&format!("keeper-{pair}"), line!() + 1);
    *first.value() += *LOCKS[pair][1].lock().await.value();
}

/// Waits for this, or for an unreported hour.
async fn listen(part: Part) {
    let parts = Parts::new();
    parts.push(Box::pin(async {
        tokio::time::sleep(10 * STEP).await; // the other part is polled by then
        part.await;
    }));
    parts.push(Box::pin(tokio::time::sleep(HOUR)));
    parts.collect::<()>().await;
}

/// Each for a thing of its own.
fn listeners(truth: &GroundTruth, signal: Signal, lock: Mutex) -> [(&'static str, Part); 3] {
    let names = ["listener-signal", "listener-lock", "listener-channel"];
    let [raised, locked, received] = names.map(|name| (name, truth.clone()));
    let raised: Part = Box::pin(async move {
        let _waiting = raised.1.enter(raised.0, line!() + 1);
        signal.raised().await;
    });
    let locked: Part = Box::pin(async move {
        let _waiting = locked.1.enter(locked.0, line!() + 1);
        drop(lock.lock().await);
    });
    let received: Part = Box::pin(async move {
        let (_sender, receiver) = channel::<()>();
        let _waiting = received.1.enter(received.0, line!() + 1);
        receiver.recv().await;
    });
    let [text, two, three] = names;
    [(text, raised), (two, locked), (three, received)]
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let truth = GroundTruth::new();
    for (pair, step) in [STEP, HOUR].into_iter().enumerate() {
        let seated = Arc::new(Barrier::new(2));
        let crawler = crawl(pair, step, Arc::clone(&seated), truth.clone());
        runtime.spawn(crawler.traced_as(&format!("crawler-{pair}")));
        let blocker = keep(pair, seated, truth.clone());
        runtime.spawn(blocker.traced_as(&format!("keeper-{pair}")));
    }
    let lock = Mutex::new();
    let _held = smol::block_on(lock.lock());
    for (name, part) in listeners(&truth, Signal::new(), lock.clone()) {
        runtime.spawn(listen(part).traced_as(name));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|name| name.ends_with("-1"));
    // Exits without cancelling tasks.
    std::process::exit(0)
}
