//! More tasks at once than one thread can run in time. At the end many are ready and have not been
//! run, or not again, as it is their turn only later.

use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{Ledger, Order, Signal, Toy};

const TASKS: usize = 2000;

async fn work(signal: Signal, name: String, ledger: Ledger) {
    loop {
        sleep(Duration::from_millis(1)); // its work
        let _waiting = ledger.enter(&name, line!() + 1);
        signal.raised().await;
    }
}

fn main() {
    ctp_nostd::attach();
    let (toy, ledger) = (Toy::new(Order::FirstCome, 1), Ledger::new());
    let mut signals = Vec::new();
    let spawn = |name: String, signals: &mut Vec<Signal>| {
        let signal = Signal::new();
        toy.spawn(&name, work(signal.clone(), name.clone(), ledger.clone()));
        signals.push(signal);
    };
    spawn("early".to_owned(), &mut signals);
    for _ in 0..20 {
        sleep(Duration::from_millis(5));
        signals[0].raise();
    }
    (0..TASKS).for_each(|i| spawn(format!("burst-{i}"), &mut signals));
    signals[0].raise();
    sleep(Duration::from_millis(1800));
    signals.iter().for_each(Signal::raise);
    sleep(Duration::from_millis(1500));
    ledger.tell(|_| false);
}
