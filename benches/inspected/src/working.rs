//! Tasks that work all the time: they tick, exchange messages, and spawn short tasks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::log::spawn;

const TICKING: usize = 1_000;
const PAIRS: usize = 200;
/// Each has at most one short task.
const SPAWNING: usize = 100;
const TICK: Duration = Duration::from_millis(100);

static DONE: AtomicU64 = AtomicU64::new(0);

/// How many messages and short tasks there were so far.
pub fn done() -> u64 {
    DONE.load(Ordering::Relaxed)
}

/// Starts the tasks.
pub fn start() {
    // The tasks live as long as the program.
    (0..TICKING).for_each(|_| drop(spawn(tick())));
    for _ in 0..PAIRS {
        let (requests, received) = mpsc::channel(1);
        let (replies, answers) = mpsc::channel(1);
        drop(spawn(ask(requests, answers)));
        drop(spawn(answer(received, replies)));
    }
    (0..SPAWNING).for_each(|index| drop(spawn(spawn_short_tasks(index))));
}

async fn tick() {
    let mut interval = tokio::time::interval(TICK);
    loop {
        interval.tick().await;
    }
}

async fn ask(requests: mpsc::Sender<u64>, mut answers: mpsc::Receiver<u64>) {
    for number in 0.. {
        if requests.send(number).await.is_err() || answers.recv().await.is_none() {
            return;
        }
        DONE.fetch_add(1, Ordering::Relaxed);
    }
}

async fn answer(mut received: mpsc::Receiver<u64>, replies: mpsc::Sender<u64>) {
    while let Some(number) = received.recv().await {
        if replies.send(number + 1).await.is_err() {
            return;
        }
    }
}

async fn spawn_short_tasks(index: usize) {
    loop {
        match index % 4 {
            0 => spawn(yield_often()).join().await,
            1 => {
                spawn(tokio::time::sleep(Duration::from_millis(1)))
                    .join()
                    .await
            }
            2 => spawn(hold(vec![index as u64; 100])).join().await,
            _ => reply().await,
        }
        DONE.fetch_add(1, Ordering::Relaxed);
    }
}

async fn yield_often() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

async fn hold(numbers: Vec<u64>) {
    tokio::task::yield_now().await;
    std::hint::black_box(numbers);
}

async fn reply() {
    let (sender, receiver) = oneshot::channel::<u64>();
    let task = spawn(async {
        // The receiver waits for the end of this task.
        let _ = sender.send(1);
    });
    receiver.await.expect("the task sends");
    task.join().await;
}
