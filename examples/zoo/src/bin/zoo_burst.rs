//! More tasks at once than a thread can run in time. At the end many have not run, and a task that
//! was woken behind them has not run again: their turn comes later.

use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Order, Signal, Toy};

/// Of a millisecond each.
const TASKS: usize = 4000;

async fn serve(signal: Signal, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter("server", line!() + 1);
        signal.raised().await;
    }
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth, signal) = (
        Toy::new(Order::FirstCome, 1),
        GroundTruth::new(),
        Signal::new(),
    );
    toy.spawn("server", serve(signal.clone(), truth.clone()));
    for _ in 0..20 {
        sleep(Duration::from_millis(5));
        signal.raise();
    }
    for i in 0..TASKS {
        toy.spawn(&format!("burst-{i}"), async {
            sleep(Duration::from_millis(1)); // its work
        });
    }
    signal.raise();
    sleep(Duration::from_millis(2500));
    truth.record(|_| false);
}
