//! A server that waits for its user, so that `ctp-report --top` can be tried on it while it runs.
//!
//! `live_table WAITING STUCK ACTIVE` starts tasks of three kinds: those that wait for a message that may still
//! come, those that wait for a lock whose holder has ended, and those that run every 10 ms. It answers each line on stdin with
//! these numbers, which are the ground truth, and ends with its input.

use std::future::poll_fn;
use std::io::{self, BufRead as _};
use std::task::Poll;
use std::time::Duration;

use ctp_nostd::{TracedExt as _, Wait};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The number by which the lock is known.
const LOCK: usize = 0x4c4f_434b;
const PAUSE: Duration = Duration::from_millis(10);

fn main() {
    ctp_nostd::attach();
    let mut numbers = std::env::args()
        .skip(1)
        .map(|word| word.parse().expect("a number"));
    let mut next = || numbers.next().unwrap_or(3_usize);
    let (waiting, stuck, active) = (next(), next(), next());
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let _guard = runtime.enter();
    let senders: Vec<oneshot::Sender<()>> = (0..waiting).map(spawn_waiting).collect();
    let holder = tokio::spawn(keep_lock().traced_as("forgetful"));
    runtime.block_on(holder).expect("the holder ends");
    for number in 0..stuck {
        tokio::spawn(want_lock().traced_as(&format!("stuck-{number}")));
    }
    for number in 0..active {
        tokio::spawn(tick().traced_as(&format!("active-{number}")));
    }
    for _ in io::stdin().lock().lines() {
        println!("waiting {} stuck {stuck} active {active}", senders.len());
    }
}

fn spawn_waiting(number: usize) -> oneshot::Sender<()> {
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(wait(receiver).traced_as(&format!("waiting-{number}")));
    sender
}

async fn wait(receiver: oneshot::Receiver<()>) {
    let _ = receiver.await;
}

/// Takes the lock, and ends without releasing it.
async fn keep_lock() {
    ctp_nostd::acquired(LOCK);
}

/// Waits for the lock, of which no task will ever wake this one.
async fn want_lock() {
    poll_fn(|context| {
        ctp_nostd::waits_for_in(Wait::lock(LOCK), context);
        // The queue of the lock keeps the waker.
        std::mem::forget(context.waker().clone());
        Poll::<()>::Pending
    })
    .await;
}

async fn tick() {
    loop {
        tokio::time::sleep(PAUSE).await;
    }
}
