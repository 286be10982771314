//! Two tasks take two locks, first in the same order, then in opposite order: each holds a lock
//! and waits for the other. Clerks take and release a third lock, now and then.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Mutex, Order, Signal, Toy, yield_now};
use tokio::sync::Barrier;

async fn transfer(locks: [Mutex; 2], own: usize, meeting: Arc<Barrier>, truth: GroundTruth) {
    for _ in 0..20 {
        let _both = (locks[0].lock().await, locks[1].lock().await);
        yield_now().await;
    }
    meeting.wait().await;
    let _own = locks[own].lock().await;
    meeting.wait().await;
    let _waiting = truth.enter(["left", "right"][own], line!() + 1);
    let _other = locks[1 - own].lock().await;
}

async fn work(lock: Mutex, called: Signal) {
    loop {
        called.raised_if_ever().await;
        let _held = lock.lock().await;
        yield_now().await;
    }
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth) = (Toy::new(Order::FirstCome, 2), GroundTruth::new());
    let locks = [Mutex::new(), Mutex::new()];
    let meeting = Arc::new(Barrier::new(2));
    for (own, name) in [(0, "left"), (1, "right")] {
        let task = transfer(locks.clone(), own, Arc::clone(&meeting), truth.clone());
        toy.spawn(name, task);
    }
    let shared = Mutex::new();
    let calls = [Signal::new(), Signal::new(), Signal::new()];
    for (i, called) in calls.iter().enumerate() {
        toy.spawn(&format!("clerk-{i}"), work(shared.clone(), called.clone()));
    }
    for _ in 0..150 {
        sleep(Duration::from_millis(10));
        calls.iter().for_each(Signal::raise);
    }
    sleep(Duration::from_secs(1));
    truth.record(|_| true);
}
