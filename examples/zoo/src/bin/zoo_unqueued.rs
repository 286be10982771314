//! A scheduler treats a task as queued until its poll has ended. A task that is woken during its
//! poll is therefore not queued, and never runs again.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Order, Signal, Toy};

/// Rounds that end in good order.
const ROUNDS: usize = 20;
/// Not in a wait.
const NO_INDEX: usize = usize::MAX;

/// In its last round the task continues to work after it has checked whether it may go on.
async fn rounds(name: &'static str, signal: Signal, at: Arc<AtomicUsize>, truth: GroundTruth) {
    for round in 0.. {
        let _waiting = truth.enter(name, line!() + 1);
        let mut raised = pin!(signal.raised());
        poll_fn(|context| {
            let poll = raised.as_mut().poll(context);
            if poll.is_pending() {
                at.store(round, Ordering::SeqCst);
                work_if_last(name, round, &at);
            }
            poll
        })
        .await;
    }
}

/// Waits until the signal is raised.
fn work_if_last(name: &str, round: usize, at: &AtomicUsize) {
    while name == "lost" && round == ROUNDS && at.load(Ordering::SeqCst) == round {
        sleep(Duration::from_millis(1));
    }
}

/// Raises the signal for a task that has been in this round's wait for a while.
fn raise(signal: &Signal, round: usize, at: &AtomicUsize) {
    while at.load(Ordering::SeqCst) != round {
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(10));
    signal.raise();
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth) = (
        Toy::new(Order::FirstComeUnlessRunning, 2),
        GroundTruth::new(),
    );
    let start = |name| {
        let (signal, at) = (Signal::new(), Arc::new(AtomicUsize::new(NO_INDEX)));
        toy.spawn(
            name,
            rounds(name, signal.clone(), Arc::clone(&at), truth.clone()),
        );
        (signal, at)
    };
    let ((lost, lost_at), (well, well_at)) = (start("lost"), start("well"));
    for round in 0..=ROUNDS {
        raise(&lost, round, &lost_at);
    }
    lost_at.store(NO_INDEX, Ordering::SeqCst);
    for round in 0..200 {
        raise(&well, round, &well_at);
    }
    truth.record(|name| name == "lost");
}
