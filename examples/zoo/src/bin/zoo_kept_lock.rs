//! A task takes a lock, ends, and never releases it. Two others wait for the lock. Another task is
//! cancelled while it holds another lock, which goes to its waiters.

use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Mutex, Order, Signal, Toy};

async fn forget(lock: Mutex, taken: Signal) {
    std::mem::forget(lock.lock().await);
    taken.raise();
}

async fn hold(lock: Mutex, taken: Signal) {
    let _held = lock.lock().await;
    taken.raise();
    std::future::pending().await
}

async fn want(lock: Mutex, name: String, truth: GroundTruth) {
    let _waiting = truth.enter(&name, line!() + 1);
    let _held = lock.lock().await;
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth) = (Toy::new(Order::FirstCome, 2), GroundTruth::new());
    let (kept, dropped, taken) = (Mutex::new(), Mutex::new(), Signal::new());
    toy.spawn("forgetful", forget(kept.clone(), taken.clone()));
    let holder = toy.spawn("cancelled", hold(dropped.clone(), taken.clone()));
    sleep(Duration::from_millis(100));
    for (lock, name) in [(&kept, "kept"), (&dropped, "dropped")] {
        for i in 0..2 {
            let name = format!("{name}-{i}");
            toy.spawn(&name, want(lock.clone(), name.clone(), truth.clone()));
        }
    }
    sleep(Duration::from_millis(100));
    holder.cancel();
    sleep(Duration::from_millis(2300));
    truth.record(|_| true);
}
