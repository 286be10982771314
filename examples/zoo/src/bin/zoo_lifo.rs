//! On tokio, an untraced task wakes another, and then blocks its worker. The task woken last stays
//! with that worker, and no other worker takes it: it was woken, and does not run.

use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, Signal};

async fn block(start: Signal, other: Signal) {
    start.raised().await;
    other.raise();
    sleep(Duration::from_secs(1000));
}

async fn answer(signal: Signal, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        signal.raised().await;
    }
}

fn main() -> std::io::Result<()> {
    ctp_nostd::attach();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    let (start, truth) = (Signal::new(), GroundTruth::new());
    let signals: Vec<Signal> = (0..4).map(|_| Signal::new()).collect();
    for (i, signal) in signals.iter().enumerate() {
        let name = format!("answerer-{i}");
        let answerer = answer(signal.clone(), name.clone(), truth.clone());
        runtime.spawn(answerer.traced_as(&name));
    }
    runtime.spawn(block(start.clone(), signals[0].clone()));
    for round in 0..250 {
        sleep(Duration::from_millis(10));
        match round {
            20 => start.raise(),
            0..20 => signals.iter().for_each(Signal::raise),
            _ => signals[1..].iter().for_each(Signal::raise),
        }
    }
    truth.record(|name| name == "answerer-0");
    // Exits without cancelling tasks.
    std::process::exit(0)
}
