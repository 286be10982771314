//! The trace should show one coroutine of `ask` that waits for ever, among 200 that waited a few
//! milliseconds at the same site: its answer was lost. The others have ended; the clock waits for
//! its next tick.
//!
//! This is plain tokio without `tokio_unstable`; the only addition is `.traced()`. Tokio's own
//! futures do not announce their waits, so a coroutine's site is its own function.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval, sleep, sleep_until};

const QUESTIONS: u32 = 200;
const FORGOTTEN: u32 = 20;
const END: Duration = Duration::from_secs(2);

struct Question {
    number: u32,
    reply: oneshot::Sender<u32>,
}

/// Asks, and waits for the answer.
async fn ask(number: u32, answer_questions: mpsc::Sender<Question>, answered: Arc<AtomicU32>) {
    let (reply, answer) = oneshot::channel();
    if answer_questions
        .send(Question { number, reply })
        .await
        .is_err()
    {
        return;
    }
    drop(answer_questions);
    if answer.await == Ok(number * number) {
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answers, but mislays one question: its sender is neither used nor dropped.
async fn answer_questions(mut questions: mpsc::Receiver<Question>) {
    while let Some(Question { number, reply }) = questions.recv().await {
        sleep(Duration::from_millis(2)).await;
        if number == FORGOTTEN {
            std::mem::forget(reply);
        } else {
            let _ = reply.send(number * number);
        }
    }
}

/// Does a little now and then, until the end.
async fn tick(ticks: Arc<AtomicU32>) {
    let mut clock = interval(Duration::from_millis(10));
    loop {
        clock.tick().await;
        ticks.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() -> ExitCode {
    ctp::attach(); // before the runtime starts its threads
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("tokio_tasks: {error}");
            return ExitCode::FAILURE;
        }
    };
    let answered = Arc::new(AtomicU32::new(0));
    let ticks = Arc::new(AtomicU32::new(0));
    runtime.block_on(async {
        let end = Instant::now() + END;
        let (to_inbox, questions) = mpsc::channel(4);
        tokio::spawn(answer_questions(questions).traced());
        tokio::spawn(tick(Arc::clone(&ticks)).traced());
        for number in 0..QUESTIONS {
            tokio::spawn(ask(number, to_inbox.clone(), Arc::clone(&answered)).traced());
            sleep(Duration::from_millis(5)).await;
        }
        drop(to_inbox); // the last: the desk closes
        sleep_until(end).await;
    });
    let answered = answered.load(Ordering::Relaxed);
    println!(
        "answered {answered} questions, {} ticks",
        ticks.load(Ordering::Relaxed)
    );
    println!("ground truth: {} task never answered", QUESTIONS - answered);
    // Stopping the runtime would cancel the coroutine of interest.
    std::mem::forget(runtime);
    ExitCode::SUCCESS
}
