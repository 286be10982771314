//! Tasks on tokio await futures of the program's own: some wait for a gate to be opened, others for an answer
//! by way of tokio's `oneshot`. A few gates are never opened, and a few answers are lost. The line of each
//! wait is that of the `.await`, not that of `poll`.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::oneshot;
use tokio::time::sleep;

const TASKS: u32 = 5;
const STUCK: u32 = 2;
/// The round in which the faults happen.
const LAST: u32 = 40;

/// Opens once.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_open: bool,
    waiting: Option<Waker>,
}

impl Gate {
    fn open(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_open = true;
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

/// Waits until the gate is open.
struct Passed<'g>(&'g Gate);

impl Future for Passed<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_open {
            return Poll::Ready(());
        }
        state.waiting = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Waits for an answer.
struct Answer(oneshot::Receiver<u32>);

impl Future for Answer {
    type Output = Option<u32>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<u32>> {
        Pin::new(&mut self.0).poll(context).map(Result::ok)
    }
}

async fn pass(number: u32, truth: GroundTruth) {
    for round in 0.. {
        let gate = Gate::default();
        if !is_faulty(number, round) {
            let opened = gate.clone();
            soon(move || opened.open());
        }
        let _waiting = truth.enter(&format!("pass-{number}"), line!() + 1);
        Passed(&gate).await;
    }
}

async fn ask(number: u32, truth: GroundTruth) {
    let mut kept = Vec::new();
    for round in 0.. {
        let (sender, answer) = oneshot::channel();
        if is_faulty(number, round) {
            kept.push(sender);
        } else {
            soon(move || sender.send(round).unwrap_or_default());
        }
        let _waiting = truth.enter(&format!("ask-{number}"), line!() + 1);
        Answer(answer).await;
    }
}

fn is_faulty(number: u32, round: u32) -> bool {
    number < STUCK && round == LAST
}

/// Does this after a few milliseconds, in a task of its own that is not traced.
fn soon(action: impl FnOnce() + Send + 'static) {
    tokio::spawn(async move {
        sleep(Duration::from_millis(4)).await;
        action();
    });
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    for number in 0..TASKS {
        let pass = pass(number, truth.clone());
        runtime.spawn(pass.traced_as(&format!("pass-{number}")));
        let ask = ask(number, truth.clone());
        runtime.spawn(ask.traced_as(&format!("ask-{number}")));
    }
    truth.let_wait(Duration::from_secs(5));
    truth.record(|name| matches!(name, "pass-0" | "pass-1" | "ask-0" | "ask-1"));
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
