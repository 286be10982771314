//! Tasks on plain tokio. Signals lose the wakers of three of them, and one waits without giving out
//! a waker. The others continue: some are woken all the time, one has a branch that never comes,
//! one waits for a signal that may still come.

use std::future::{Future, pending, poll_fn};
use std::task::Poll;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, Signal};

async fn answer(signal: Signal, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        signal.raised().await;
    }
}

async fn wait_for_long(signal: Signal, truth: GroundTruth) {
    let _waiting = truth.enter("late", line!() + 1);
    signal.raised().await;
}

async fn be_shy(signal: Signal, truth: GroundTruth) {
    signal.raised().await;
    let wait = ctp::Wait::user(1);
    let _waiting = truth.enter("shy", line!() - 1);
    poll_fn(|_| {
        ctp::waits_for(wait);
        Poll::<()>::Pending
    })
    .await;
}

async fn choose(signal: Signal, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter("chooser", line!() + 1);
        tokio::select! {
            () = signal.raised() => {}
            () = pending() => {}
        }
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    let truth = GroundTruth::new();
    let spawn = |name: &str, task: Box<dyn Future<Output = ()> + Send>| {
        drop(runtime.spawn(Box::into_pin(task).traced_as(name)));
    };
    let mut signals = Vec::new();
    for i in 0..8 {
        let name = format!("{}-{i}", if i < 3 { "lost" } else { "answered" });
        let signal = Signal::new();
        spawn(
            &name,
            Box::new(answer(signal.clone(), name.clone(), truth.clone())),
        );
        signals.push(signal);
    }
    let (choice, late) = (Signal::new(), Signal::new());
    spawn("chooser", Box::new(choose(choice.clone(), truth.clone())));
    spawn("late", Box::new(wait_for_long(late.clone(), truth.clone())));
    let first = Signal::new();
    spawn("shy", Box::new(be_shy(first.clone(), truth.clone())));
    for round in 0..300 {
        sleep(Duration::from_millis(8));
        signals.iter().chain([&choice]).for_each(Signal::raise);
        if round == 30 {
            sleep(Duration::from_millis(200)); // all of them wait again
            signals.drain(..3).for_each(|signal| signal.mislay());
            first.raise();
        }
    }
    truth.record(|name| name.starts_with("lost") || name == "shy");
    // Exits without cancelling tasks.
    std::process::exit(0)
}
