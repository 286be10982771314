//! A target whose coroutines end up with and without wakers: `wakers EXECUTOR`.
//!
//! The executor is `tokio`, `smol`, `unordered` (children of one future), `own` (a queue and two
//! threads), `fickle` (the same, with another waker at each poll), `noop` (polls everything, again
//! and again), or `nested` (`own`, and each coroutine is polled by another one, `around` it).
//! `busy` coroutines wait many times in all ways: they wake themselves, or pass wakers to a thread
//! that wakes some and drops others, by value or by reference, one or several for a wait. The
//! others wait for ever:
//!
//! - `kept`: the waker is kept;
//! - `dropped`: the waker was dropped;
//! - `shy`: no waker was given out.
//!
//! A line for each coroutine has its name, its number of wakes, and its live wakers at the end. For
//! `own`, `nested` and `fickle` the executor's count of wakes must equal the sum, or the program
//! panics.

mod own;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};

const BUSY: u32 = 24;
const ROUNDS: u32 = 300;
/// A way to wait: the desk wakes, once.
const BY_INBOX: u32 = 1;
const OF_EACH_KIND: u32 = 5;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

fn main() {
    ctp::attach();
    let executor = std::env::args().nth(1).expect("an executor");
    let (inbox, letters) = channel();
    thread::spawn(move || handle(letters));
    let cast = TestTasks::of(&inbox);
    let (busy, tasks) = (cast.busy, cast.tasks);
    let everybody = tasks.len();
    match executor.as_str() {
        "tokio" => on_tokio(tasks),
        "smol" => on_smol(tasks),
        "unordered" => unordered(tasks),
        "own" => own::run(tasks, false),
        "fickle" => own::run(tasks, true),
        "noop" => own::poll_all(tasks),
        "nested" => own::run(tasks.into_iter().map(around).collect(), false),
        other => panic!("{other} is no executor"),
    }
    while Arc::strong_count(&busy) > 1 {
        thread::sleep(Duration::from_millis(2));
    }
    await_rest(&inbox);
    assert_eq!(cast.truths.len(), everybody);
    let wakes = cast.truths.iter().map(|truth| truth.wakes.load(SeqCst));
    let wakes: u32 = wakes.sum();
    assert!([wakes, 0].contains(&own::woken()), "{wakes}");
    for truth in &cast.truths {
        println!(
            "{} {} {}",
            truth.name,
            truth.wakes.load(SeqCst),
            truth.alive
        );
    }
    // Exits without destructors.
    std::process::exit(0);
}

/// What is known of a coroutine without looking into any trace.
struct Truth {
    name: String,
    wakes: AtomicU32,
    alive: u32,
}

impl Truth {
    /// A wake is about to come.
    fn woken(&self) {
        self.wakes.fetch_add(1, SeqCst);
    }
}

struct TestTasks {
    tasks: Vec<Task>,
    truths: Vec<Arc<Truth>>,
    /// Held by each that is busy.
    busy: Arc<()>,
}

impl TestTasks {
    fn of(inbox: &Sender<Letter>) -> Self {
        let mut cast = TestTasks {
            tasks: Vec::new(),
            truths: Vec::new(),
            busy: Arc::new(()),
        };
        for number in 0..BUSY {
            let truth = cast.truth(format!("busy-{number}"), 0);
            let (inbox, busy) = (inbox.clone(), cast.busy.clone());
            cast.add(&truth.clone(), async move {
                for round in 0..ROUNDS {
                    Wait::new(number + round, &truth, &inbox).await;
                }
                // Its only wake comes after all others.
                Wait::new(BY_INBOX, &truth, &inbox).await;
                drop(busy);
            });
        }
        for number in 0..OF_EACH_KIND {
            cast.add_stuck(format!("kept-{number}"), 1, inbox, What::Keep);
            cast.add_stuck(format!("dropped-{number}"), 0, inbox, What::Drop);
            let truth = cast.truth(format!("shy-{number}"), 0);
            cast.add(&truth, std::future::pending());
        }
        cast
    }

    fn truth(&mut self, name: String, alive: u32) -> Arc<Truth> {
        let truth = Arc::new(Truth {
            name,
            wakes: AtomicU32::new(0),
            alive,
        });
        self.truths.push(truth.clone());
        truth
    }

    fn add(&mut self, truth: &Arc<Truth>, future: impl Future<Output = ()> + Send + 'static) {
        self.tasks.push(Box::pin(future.traced_as(&truth.name)));
    }

    fn add_stuck(&mut self, name: String, alive: u32, inbox: &Sender<Letter>, what: What) {
        let truth = self.truth(name, alive);
        let (inbox, own_truth) = (inbox.clone(), truth.clone());
        self.add(&truth, async move {
            let mut what = Some(what);
            std::future::poll_fn(move |context| {
                if let Some(what) = what.take() {
                    post(&inbox, context.waker().clone(), &own_truth, what);
                }
                Poll::<()>::Pending
            })
            .await;
        });
    }
}

/// Pending once or twice, in one of several ways.
struct Wait<'t> {
    way: u32,
    truth: &'t Arc<Truth>,
    inbox: &'t Sender<Letter>,
    waker: Option<Waker>,
    answered: Arc<AtomicU32>,
}

impl<'t> Wait<'t> {
    fn new(way: u32, truth: &'t Arc<Truth>, inbox: &'t Sender<Letter>) -> Self {
        Wait {
            way,
            truth,
            inbox,
            waker: None,
            answered: Arc::default(),
        }
    }

    fn begin(&mut self, waker: &Waker) {
        let what = What::WakeAfter(self.answered.clone());
        match self.way % 4 {
            0 => {
                self.answered.store(1, SeqCst);
                self.truth.woken();
                waker.wake_by_ref();
            }
            BY_INBOX => post(self.inbox, waker.clone(), self.truth, what),
            2 => {
                let (sent, other) = (waker.clone(), waker.clone());
                drop(sent.clone());
                post(self.inbox, sent, self.truth, What::Drop);
                post(self.inbox, other, self.truth, what);
            }
            _ => {
                post(self.inbox, waker.clone(), self.truth, what.clone());
                post(self.inbox, waker.clone(), self.truth, what);
            }
        }
    }
}

impl Future for Wait<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let is_answered = self.answered.load(SeqCst) > 0;
        match &mut self.waker {
            None => {
                self.waker = Some(context.waker().clone());
                self.begin(context.waker());
                Poll::Pending
            }
            Some(_) if is_answered => Poll::Ready(()),
            Some(kept) => {
                kept.clone_from(context.waker());
                Poll::Pending
            }
        }
    }
}

#[derive(Clone)]
enum What {
    Keep,
    Drop,
    WakeAfter(Arc<AtomicU32>),
}

enum Letter {
    Waker(Waker, Arc<Truth>, What),
    /// All before this were handled.
    Over(Sender<()>),
}

fn post(inbox: &Sender<Letter>, waker: Waker, truth: &Arc<Truth>, what: What) {
    let letter = Letter::Waker(waker, truth.clone(), what);
    inbox.send(letter).expect("the receiver is alive");
}

fn handle(letters: Receiver<Letter>) {
    let kept = Mutex::new(Vec::new());
    for (number, letter) in letters.into_iter().enumerate() {
        match letter {
            Letter::Waker(waker, _, What::Keep) => kept.lock().expect("whole").push(waker),
            Letter::Waker(waker, _, What::Drop) => drop(waker),
            Letter::Waker(waker, truth, What::WakeAfter(answered)) => {
                answered.store(1, SeqCst);
                truth.woken();
                match number % 2 {
                    0 => waker.wake(),
                    _ => waker.wake_by_ref(),
                }
            }
            Letter::Over(done) => done.send(()).expect("the receiver is alive"),
        }
    }
}

fn await_rest(inbox: &Sender<Letter>) {
    // Wakers of coroutines that are not busy were sent at their first poll, long enough ago.
    thread::sleep(Duration::from_millis(200));
    let (done, is_done) = channel();
    inbox
        .send(Letter::Over(done))
        .expect("the receiver is alive");
    is_done.recv().expect("it answers");
}

fn around(task: Task) -> Task {
    Box::pin(task.traced_as("around"))
}

fn on_tokio(tasks: Vec<Task>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).build().expect("a runtime");
    tasks.into_iter().for_each(|task| drop(runtime.spawn(task)));
    std::mem::forget(runtime);
}

fn on_smol(tasks: Vec<Task>) {
    let executor: &'static smol::Executor<'_> = Box::leak(Box::default());
    tasks
        .into_iter()
        .for_each(|task| executor.spawn(task).detach());
    for _ in 0..2 {
        thread::spawn(|| smol::block_on(executor.run(std::future::pending::<()>())));
    }
}

fn unordered(tasks: Vec<Task>) {
    thread::spawn(|| {
        let all: FuturesUnordered<Task> = tasks.into_iter().collect();
        futures::executor::block_on(all.for_each(|()| std::future::ready(())));
    });
}
