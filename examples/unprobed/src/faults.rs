//! Tasks with faults.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{Barrier, Mutex};

use crate::registry::{register, spawn_bare};

/// A future that keeps no waker, which is a fault: nothing can ever wake its task.
pub struct Forgetful;

impl Future for Forgetful {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// `count` tasks that nothing can wake.
pub fn no_waker(count: usize) {
    for _ in 0..count {
        spawn_bare(read_frame());
    }
}

async fn read_frame() {
    let _registration = register("no-waker").await;
    Forgetful.await;
}

/// Two tasks that each hold a mutex and wait for that of the other.
pub fn deadlock() {
    let first = Arc::new(Mutex::new(1));
    let second = Arc::new(Mutex::new(2));
    let barrier = Arc::new(Barrier::new(2));
    spawn_bare(transfer(first.clone(), second.clone(), barrier.clone()));
    spawn_bare(transfer(second, first, barrier));
}

async fn transfer(from: Arc<Mutex<u32>>, to: Arc<Mutex<u32>>, barrier: Arc<Barrier>) {
    let _registration = register("deadlock").await;
    let mut from_balance = from.lock().await;
    barrier.wait().await;
    let mut to_balance = to.lock().await;
    *to_balance += *from_balance;
    *from_balance = 0;
}

/// A task that blocks the thread that polls it.
pub fn blocked_worker() {
    spawn_bare(export());
}

async fn export() {
    let _registration = register("blocked").await;
    loop {
        throttle();
        tokio::task::yield_now().await;
    }
}

#[inline(never)]
fn throttle() {
    std::thread::sleep(Duration::from_secs(3600));
}
