//! A last-in, first-out queue, and two tasks that keep each other busy: a task below them is ready,
//! and never runs.

use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Order, Signal, Toy, yield_now};

async fn serve(signal: Signal, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter("starved", line!() + 1);
        signal.raised().await;
    }
}

async fn hog() {
    loop {
        sleep(Duration::from_millis(1)); // its work
        yield_now().await;
    }
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth, signal) = (
        Toy::new(Order::LastCome, 1),
        GroundTruth::new(),
        Signal::new(),
    );
    toy.spawn("starved", serve(signal.clone(), truth.clone()));
    for _ in 0..20 {
        sleep(Duration::from_millis(10));
        signal.raise();
    }
    sleep(Duration::from_millis(100));
    toy.spawn("hog", hog());
    sleep(Duration::from_millis(100));
    signal.raise();
    sleep(Duration::from_millis(2500));
    truth.record(|name| name == "starved");
}
