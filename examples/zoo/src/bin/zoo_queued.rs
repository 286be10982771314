//! A task blocks the only thread for long. Two others are woken meanwhile, and the first of them
//! once more, much later. It is run first; the other one, which is next, is not passed over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{Ledger, Order, Signal, Toy};

/// What tasks that block their thread wait for.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// The one that was woken twice runs, and the program may end.
static IS_SERVED: AtomicBool = AtomicBool::new(false);

const ROUNDS: usize = 30;

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(1));
    }
}

async fn next(signal: Signal, ledger: Ledger) {
    loop {
        let _waiting = ledger.enter("next", line!() + 1);
        signal.raised().await;
    }
}

async fn twice(signals: [Signal; 2]) {
    for _ in 0..=ROUNDS {
        tokio::select! {
            () = signals[0].raised() => {}
            () = signals[1].raised() => {}
        }
    }
    IS_SERVED.store(true, Ordering::SeqCst);
    sleep(Duration::from_secs(9)); // so that nobody else is run until the program ends
}

async fn block(signal: Signal) {
    signal.raised().await;
    until(&IS_OVER);
}

fn main() {
    ctp_nostd::attach();
    let (toy, ledger) = (Toy::new(Order::FirstCome, 1), Ledger::new());
    let [to_next, to_first, again, to_block] = [(); 4].map(|()| Signal::new());
    toy.spawn("next", next(to_next.clone(), ledger.clone()));
    toy.spawn("twice", twice([to_first.clone(), again.clone()]));
    toy.spawn("block", block(to_block.clone()));
    let pause = || sleep(Duration::from_millis(20));
    for _ in 0..ROUNDS {
        pause();
        to_next.raise();
        to_first.raise();
    }
    pause();
    for signal in [&to_block, &to_first, &to_next] {
        signal.raise();
        pause();
    }
    sleep(Duration::from_secs(2));
    again.raise();
    IS_OVER.store(true, Ordering::SeqCst);
    until(&IS_SERVED);
    ledger.tell(|_| false);
    // As it stands: nobody is cancelled.
    std::process::exit(0)
}
