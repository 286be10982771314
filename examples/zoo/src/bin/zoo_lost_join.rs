//! Tasks on tokio join others through a table of waiters. A worker that ends well wakes its waiter;
//! a worker that gives up early forgets to.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, announced, two_workers};

/// The waiter of each running worker, by number.
static WAITING: LazyLock<Mutex<HashMap<u32, Vec<Waker>>>> = LazyLock::new(Mutex::default);

fn with_waiting<T>(act: impl FnOnce(&mut HashMap<u32, Vec<Waker>>) -> T) -> T {
    act(&mut WAITING.lock().unwrap_or_else(PoisonError::into_inner))
}

async fn work(number: u32) {
    tokio::time::sleep(Duration::from_millis(5)).await;
    if number % 10 == 9 {
        return; // gives up
    }
    let waiting = with_waiting(|all| all.remove(&number));
    waiting.into_iter().flatten().for_each(Waker::wake);
}

/// Until this worker is over.
async fn end_of(number: u32) {
    poll_fn(|context| {
        with_waiting(|all| match all.get_mut(&number) {
            None => Poll::Ready(()),
            Some(waiting) => {
                waiting.push(context.waker().clone());
                Poll::Pending
            }
        })
    })
    .await
}

async fn follow(number: u32, truth: GroundTruth) {
    with_waiting(|all| all.insert(number, Vec::new()));
    let worker = work(number).traced_as(&format!("worker-{number}"));
    let id = worker.id();
    tokio::spawn(worker);
    let _waiting = truth.enter(&format!("follower-{number}"), line!() + 1);
    announced(end_of(number), ctp::Wait::coroutine(id)).await;
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let truth = GroundTruth::new();
    for number in 0..100 {
        let follower = follow(number, truth.clone());
        runtime.spawn(follower.traced_as(&format!("follower-{number}")));
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
