//! A task blocks its thread in a call, while the others go on with the thread that is left.

use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Order, Signal, Toy};

async fn block(signal: Signal) {
    signal.raised().await;
    println!("busy blocker {}", rustix::thread::gettid().as_raw_nonzero());
    sleep(Duration::from_secs(1000));
}

async fn tick(signal: Signal, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter("ticker", line!() + 1);
        signal.raised().await;
    }
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth) = (Toy::new(Order::FirstCome, 2), GroundTruth::new());
    let (start, time) = (Signal::new(), Signal::new());
    toy.spawn("blocker", block(start.clone()));
    toy.spawn("ticker", tick(time.clone(), truth.clone()));
    for round in 0..150 {
        sleep(Duration::from_millis(15));
        time.raise();
        if round == 10 {
            start.raise();
        }
    }
    truth.record(|_| false);
}
