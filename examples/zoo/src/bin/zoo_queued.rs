//! A task blocks the only thread for long. Two others are woken meanwhile, and the first of them
//! again much later. The first runs first; the second, which is next, is not passed over.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Order, Signal, Toy};

/// What tasks that block their thread wait for.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// The thread is blocked.
static IS_BLOCKED: AtomicBool = AtomicBool::new(false);
/// How often the task that is woken twice has run.
static HANDLED: AtomicUsize = AtomicUsize::new(0);

const ROUNDS: usize = 30;

fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        sleep(Duration::from_millis(1));
    }
}

fn until_handled(rounds: usize) {
    until(|| HANDLED.load(Ordering::SeqCst) == rounds);
}

async fn next(signal: Signal, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter("next", line!() + 1);
        signal.raised().await;
    }
}

async fn twice(signals: [Signal; 2]) {
    for _ in 0..=ROUNDS {
        tokio::select! {
            () = signals[0].raised() => {}
            () = signals[1].raised() => {}
        }
        HANDLED.fetch_add(1, Ordering::SeqCst);
    }
    sleep(Duration::from_secs(9)); // so that no other task runs until the program ends
}

async fn block(signal: Signal) {
    signal.raised().await;
    IS_BLOCKED.store(true, Ordering::SeqCst);
    until(|| IS_OVER.load(Ordering::SeqCst));
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth) = (Toy::new(Order::FirstCome, 1), GroundTruth::new());
    let [to_next, to_first, again, to_block] = [(); 4].map(|()| Signal::new());
    toy.spawn("next", next(to_next.clone(), truth.clone()));
    toy.spawn("twice", twice([to_first.clone(), again.clone()]));
    toy.spawn("block", block(to_block.clone()));
    let pause = || sleep(Duration::from_millis(20));
    for round in 0..ROUNDS {
        pause();
        to_next.raise();
        to_first.raise();
        until_handled(round + 1); // longer on a busy machine
    }
    pause();
    to_block.raise();
    until(|| IS_BLOCKED.load(Ordering::SeqCst));
    for signal in [&to_first, &to_next] {
        signal.raise();
        pause();
    }
    sleep(Duration::from_secs(2));
    again.raise();
    IS_OVER.store(true, Ordering::SeqCst);
    until_handled(ROUNDS + 1);
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
