//! A server that starts without a recorder. `ctp-record -p PID` records it from then on.
//!
//! For each line on stdin, the server prints how many requests it has spawned while it was certainly recorded.

use std::io::{self, BufRead as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ctp_nostd::{Task, TracedExt as _, Wait};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// Tasks that run all the time.
const TICKERS: u64 = 3;
/// Coroutines that the program schedules itself, and that run all the time.
const GREEN_THREADS: u64 = 2;
/// Coroutines that the program schedules itself, and that hand over to each other.
const RING: usize = 3;
/// Tasks that never run again.
const SILENT: u64 = 4;

static RECORDED_REQUESTS: AtomicU64 = AtomicU64::new(0);

fn main() {
    ctp_nostd::attach();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut senders = Vec::new();
    for number in 0..TICKERS {
        runtime.spawn(tick(number).traced_as("ticker"));
    }
    for _ in 0..SILENT {
        let (sender, receiver) = oneshot::channel::<()>();
        senders.push(sender);
        runtime.spawn(silent(receiver).traced());
    }
    runtime.spawn(serve());
    thread::spawn(schedule);
    println!("ready");
    for _ in io::stdin().lock().lines() {
        println!("{}", RECORDED_REQUESTS.load(Ordering::SeqCst));
    }
}

async fn tick(number: u64) {
    loop {
        tokio::time::sleep(Duration::from_millis(10 + number)).await;
    }
}

async fn silent(receiver: oneshot::Receiver<()>) {
    let _ = receiver.await;
}

/// Spawns requests, and counts those that are recorded for certain.
async fn serve() {
    loop {
        let is_recorded = ctp_nostd::probe().is_some();
        tokio::spawn(request().traced_as("request"));
        if is_recorded {
            RECORDED_REQUESTS.fetch_add(1, Ordering::SeqCst);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn request() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// Runs coroutines in turn, as a scheduler of stackful coroutines would.
fn schedule() {
    let coroutines: Vec<Task> = (0..GREEN_THREADS).map(|_| Task::born("green")).collect();
    let ring: Vec<Task> = (0..RING).map(|_| Task::born("ring")).collect();
    for turn in 0.. {
        ring[turn % RING].switch_to(Wait::to_yield(), &ring[(turn + 1) % RING]);
        for coroutine in &coroutines {
            coroutine.run();
            thread::sleep(Duration::from_millis(2));
            coroutine.suspend(Wait::user(7));
        }
    }
}
