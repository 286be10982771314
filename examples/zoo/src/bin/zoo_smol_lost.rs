//! Tasks on smol, without announced waits, ask a thread and leave their wakers with it. Under load
//! the thread drops three questions without a wake; all others are answered.

use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Poll, Waker};
use std::thread::{self, sleep};
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::GroundTruth;
use smol::{Executor, Timer};

/// Until then each asks several times.
const CALM: usize = 300;

struct Question {
    asker: Waker,
    from: usize,
    is_answered: Arc<AtomicBool>,
}

async fn consult(i: usize, inbox: Sender<Question>, truth: GroundTruth) {
    let line = line!() - 1;
    loop {
        let _waiting = truth.enter(&format!("asker-{i}"), line);
        ask(i, &inbox).await;
        Timer::after(Duration::from_millis(5)).await;
    }
}

fn ask(from: usize, inbox: &Sender<Question>) -> impl Future<Output = ()> {
    let is_answered = Arc::new(AtomicBool::new(false));
    let mut inbox = Some(inbox.clone());
    poll_fn(move |context| {
        if is_answered.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        if let Some(inbox) = inbox.take() {
            let _ = inbox.send(Question {
                asker: context.waker().clone(),
                from,
                is_answered: Arc::clone(&is_answered),
            });
        }
        Poll::Pending
    })
}

fn answer(questions: &Receiver<Question>, count: &AtomicUsize) {
    for question in questions {
        if count.fetch_add(1, Ordering::SeqCst) < CALM || 3 <= question.from {
            question.is_answered.store(true, Ordering::SeqCst);
            question.asker.wake();
        }
    }
}

fn main() {
    ctp_nostd::attach();
    let executor: &'static Executor<'_> = Box::leak(Box::default());
    let ((inbox, questions), truth) = (channel(), GroundTruth::new());
    let count: &'static AtomicUsize = Box::leak(Box::default());
    thread::spawn(|| answer(&{ questions }, count));
    for i in 0..8 {
        let asker = consult(i, inbox.clone(), truth.clone());
        executor
            .spawn(asker.traced_as(&format!("asker-{i}")))
            .detach();
    }
    for _ in 0..2 {
        thread::spawn(|| smol::block_on(executor.run(pending::<()>())));
    }
    while count.load(Ordering::SeqCst) < CALM {
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(2500));
    let is_lost = |name: &str| ["asker-0", "asker-1", "asker-2"].contains(&name);
    truth.record(is_lost);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
