//! Boxed futures in tasks of tokio.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::{awaits_at, exists, BoxedFuture};

static NEVER_NOTIFIED: Notify = Notify::const_new();
/// How many futures wait.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// How many futures the set has.
const CHILDREN: usize = 100;
/// How many boxed futures await each other.
const DEPTH: usize = 20;
const BUSY: usize = 4;

/// Prints the address of the task that awaits this.
pub async fn announce(kind: &str) {
    poll_fn(|context| {
        println!("task {kind} {}", context.waker().data() as usize);
        Poll::Ready(())
    })
    .await
}

/// Waits until this many futures wait.
pub fn wait_for(count: usize) {
    while WAITING.load(Ordering::Relaxed) < count {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(20));
}

pub fn count_waiting() {
    WAITING.fetch_add(1, Ordering::Relaxed);
}

async fn child(number: usize) {
    if number == 0 {
        awaits_at("child", line!() + 3);
    }
    count_waiting();
    NEVER_NOTIFIED.notified().await;
}

async fn parent() {
    announce("parent").await;
    let mut set = FuturesUnordered::new();
    for number in 0..CHILDREN {
        let future: BoxedFuture = Box::pin(child(number));
        exists("child", &future);
        set.push(future);
    }
    while set.next().await.is_some() {}
}

pub fn run_set() {
    let runtime = Runtime::new().unwrap();
    runtime.spawn(parent());
    wait_for(CHILDREN);
    std::mem::forget(runtime);
}

/// A function that awaits itself, as functions of traits in boxes do.
fn recursive(depth: usize) -> BoxedFuture {
    Box::pin(async move {
        if 0 < depth {
            recursive(depth - 1).await;
        } else {
            count_waiting();
            NEVER_NOTIFIED.notified().await;
        }
    })
}

/// Like [`recursive`], and never waits for long.
fn busy(depth: usize) -> BoxedFuture {
    Box::pin(async move {
        if 0 < depth {
            busy(depth - 1).await;
        } else {
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
        }
    })
}

pub fn run_plain() {
    let runtime = Runtime::new().unwrap();
    runtime.spawn(async {
        announce("recursive").await;
        recursive(DEPTH).await;
    });
    for _ in 0..BUSY {
        runtime.spawn(async {
            announce("busy").await;
            loop {
                busy(DEPTH).await;
            }
        });
    }
    wait_for(1);
    std::mem::forget(runtime);
}
