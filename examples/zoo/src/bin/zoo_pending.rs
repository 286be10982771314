//! An idle service on tokio in which nothing is wrong: tasks wait in `pending()`, after a timer, a
//! timeout, a `select!`, a channel, a join, a thread and a signal of the zoo.

use std::future::{Future, pending, poll_fn, ready};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, Signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

async fn after_timer() {
    for _ in 0..20 {
        sleep(Duration::from_millis(5)).await;
    }
    pending().await
}

async fn after_timeout(silent: oneshot::Receiver<u32>) {
    let _ = timeout(Duration::from_millis(30), silent).await;
    pending().await
}

async fn after_select(mut silent: mpsc::Receiver<u32>) {
    tokio::select! {
        biased;
        _ = silent.recv() => {}
        () = ready(()) => {}
    }
    pending().await
}

async fn after_channel(mut orders: mpsc::Receiver<u32>) {
    while orders.recv().await.is_some() {}
    futures::future::pending().await
}

async fn after_join(task: tokio::task::JoinHandle<()>) {
    let _ = task.await;
    pending().await
}

/// The thread keeps the waker for a while after it has woken the task.
fn poll_thread(context: &Context<'_>, is_started: &mut bool) -> Poll<()> {
    if std::mem::replace(is_started, true) {
        return Poll::Ready(());
    }
    let waker = context.waker().clone();
    thread::spawn(move || {
        waker.wake_by_ref();
        thread::sleep(Duration::from_millis(50));
        drop(waker);
    });
    Poll::Pending
}

async fn after_thread() {
    let mut is_started = false;
    poll_fn(|context| poll_thread(context, &mut is_started)).await;
    pending().await
}

async fn after_signal(signal: Signal) {
    signal.raised().await;
    tokio::select! {
        () = pending() => {}
        () = pending() => {}
    }
}

async fn from_the_start() {
    pending().await
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
    tokio::spawn(task.traced())
}

async fn serve(signal: Signal) {
    let (_keeps_silent, silent) = oneshot::channel();
    let (_says_nothing, nothing) = mpsc::channel(1);
    let (orders, accepted) = mpsc::channel(1);
    spawn(after_timer());
    spawn(after_timeout(silent));
    spawn(after_select(nothing));
    spawn(after_channel(accepted));
    spawn(after_join(spawn(sleep(Duration::from_millis(40)))));
    spawn(after_thread());
    spawn(after_signal(signal.clone()));
    spawn(from_the_start());
    for order in 0..20 {
        let _ = orders.send(order).await;
        sleep(Duration::from_millis(3)).await;
    }
    drop(orders);
    signal.raise();
    pending().await
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let truth = GroundTruth::new();
    runtime.spawn(serve(Signal::new()).traced());
    thread::sleep(Duration::from_millis(2500));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
