//! Boxed futures that wait for each other.

use std::task::{Context, Waker};
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::sets::{announce, count_waiting, wait_for};
use crate::{awaits_at, exists, BoxedFuture, Once};

static LEFT: Mutex<u32> = Mutex::const_new(1);
static RIGHT: Mutex<u32> = Mutex::const_new(2);
/// The futures of the executor that is written by hand.
static FUTURES: std::sync::Mutex<Vec<BoxedFuture>> = std::sync::Mutex::new(Vec::new());

async fn left_first() {
    let left = LEFT.lock().await;
    Once::default().await;
    count_waiting();
    awaits_at("left_first", line!() + 1);
    let right = RIGHT.lock().await;
    drop((left, right));
}

async fn right_first() {
    let right = RIGHT.lock().await;
    Once::default().await;
    count_waiting();
    awaits_at("right_first", line!() + 1);
    let left = LEFT.lock().await;
    drop((left, right));
}

/// Waits for a lock that another future holds.
async fn behind() {
    Once::default().await;
    count_waiting();
    let left = LEFT.lock().await;
    drop(left);
}

fn futures() -> Vec<BoxedFuture> {
    let futures: Vec<BoxedFuture> = vec![
        Box::pin(left_first()),
        Box::pin(right_first()),
        Box::pin(behind()),
    ];
    for (name, future) in ["left_first", "right_first", "behind"].iter().zip(&futures) {
        exists(name, future);
    }
    futures
}

pub fn run() {
    let mut context = Context::from_waker(Waker::noop());
    *FUTURES.lock().unwrap() = futures();
    for _ in 0..3 {
        for future in FUTURES.lock().unwrap().iter_mut() {
            assert!(future.as_mut().poll(&mut context).is_pending());
        }
    }
}

async fn ticking() {
    loop {
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
}

async fn parent() {
    announce("parent").await;
    let mut set: FuturesUnordered<BoxedFuture> = futures().into_iter().collect();
    set.push(Box::pin(ticking()));
    while set.next().await.is_some() {}
}

pub fn run_set() {
    let runtime = Runtime::new().unwrap();
    runtime.spawn(parent());
    wait_for(3);
    std::mem::forget(runtime);
}
