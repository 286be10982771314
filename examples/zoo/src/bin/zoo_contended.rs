//! Twelve tasks take three locks, mostly two at a time and in the same order, as fast as they can,
//! whenever all of them are called. Each lock goes round, and no task keeps a lock while it rests.

use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Mutex, Order, Signal, Toy, yield_now};

async fn contend(locks: [Mutex; 3], i: usize, called: Signal, truth: GroundTruth) {
    let (first, second) = [(0, 1), (0, 2), (1, 2)][i % 3];
    loop {
        for round in 0..100 {
            let _first = locks[first].lock().await;
            if round % 4 != i % 4 {
                let _second = locks[second].lock().await;
                yield_now().await;
            }
            yield_now().await;
        }
        let _waiting = truth.enter(&format!("contender-{i}"), line!() + 1);
        called.raised_if_ever().await;
    }
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth) = (Toy::new(Order::FirstCome, 3), GroundTruth::new());
    let locks = [Mutex::new(), Mutex::new(), Mutex::new()];
    let calls: [Signal; 12] = Default::default();
    for (i, called) in calls.iter().enumerate() {
        let task = contend(locks.clone(), i, called.clone(), truth.clone());
        toy.spawn(&format!("contender-{i}"), task);
    }
    for _ in 0..100 {
        sleep(Duration::from_millis(20));
        calls.iter().for_each(Signal::raise);
    }
    sleep(Duration::from_millis(500)); // all of them rest
    truth.record(|_| false);
}
