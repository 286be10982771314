//! Tasks on tokio, some of which panic: before their first wait, with a lock that others want, or
//! inside another task that survives. Their joiners are woken, and continue.

use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::task::Poll;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, TokioMutex, announced, two_workers};

const ROUNDS: u32 = 60;
const HOUR: Duration = Duration::from_secs(3600);

static LOCK: LazyLock<TokioMutex<u32>> = LazyLock::new(Default::default);

async fn work(round: u32) {
    assert_ne!(round % 5, 1, "at once");
    let mut held = LOCK.lock().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    *held.value() += 1;
    assert_ne!(round % 5, 3, "with the lock");
}

/// Starts others, and waits for the end of each.
async fn supervise(name: String, truth: GroundTruth) {
    for round in 0..ROUNDS {
        let worker = work(round).traced_as("worker");
        let id = worker.id();
        let worker = tokio::spawn(worker);
        let _waiting = truth.enter(&name, line!() + 1);
        let _ = announced(worker, ctp::Wait::coroutine(id)).await;
    }
    rest(name, truth).await;
}

async fn rest(name: String, truth: GroundTruth) {
    let _waiting = truth.enter(&name, line!() + 1);
    announced(tokio::time::sleep(HOUR), ctp::Wait::timer_in(HOUR)).await;
}

/// Polls others itself, and goes on when they panic.
async fn survive(name: String, truth: GroundTruth) {
    for round in 0..ROUNDS {
        let _waiting = truth.enter(&name, line!() + 1);
        caught(work(round).traced_as("inner")).await;
    }
    rest(name, truth).await;
}

async fn caught(future: impl Future<Output = ()>) {
    let mut future = Box::pin(future);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.unwrap_or(Poll::Ready(()))
    })
    .await
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    panic::set_hook(Box::new(|_| {})); // they are meant to
    let runtime = two_workers()?;
    let truth = GroundTruth::new();
    for i in 0..4 {
        let name = format!("supervisor-{i}");
        runtime.spawn(supervise(name.clone(), truth.clone()).traced_as(&name));
    }
    for i in 0..4 {
        let name = format!("survivor-{i}");
        runtime.spawn(survive(name.clone(), truth.clone()).traced_as(&name));
    }
    sleep(Duration::from_millis(3000));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
