//! Tasks that wait for something that only they themselves could do, and tasks of which this only seems so.

use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, mpsc, oneshot};

use crate::registry::{register, spawn_bare};

/// Senders that a thread could use.
static ELSEWHERE: Mutex<Vec<oneshot::Sender<u32>>> = Mutex::new(Vec::new());

/// `count` tasks of each kind. Those of the kinds `own-…` can never continue.
pub fn start(count: usize) {
    for _ in 0..count {
        spawn_bare(own_oneshot());
        spawn_bare(own_mpsc());
        spawn_bare(own_notify());
        spawn_bare(shared_mpsc());
        spawn_bare(moved_oneshot(std::env::args().count() != 0));
        spawn_bare(given_oneshot(receiver()));
        spawn_bare(given_notify(Arc::new(Notify::new())));
        let captured = receiver();
        spawn_bare(async move {
            let _registration = register("captured-oneshot").await;
            captured.await
        });
    }
}

/// A receiver of which a thread could use the sender.
fn receiver() -> oneshot::Receiver<u32> {
    let (sender, receiver) = oneshot::channel();
    let mut elsewhere = ELSEWHERE.lock().expect("no panic while locked");
    elsewhere.push(sender);
    receiver
}

/// The parameter leaves its bytes behind.
async fn given_oneshot(receiver: oneshot::Receiver<u32>) {
    let _registration = register("given-oneshot").await;
    let _ = receiver.await;
}

/// The task alone has what it was given.
async fn given_notify(notify: Arc<Notify>) {
    let _registration = register("own-given-notify").await;
    notify.notified().await;
}

async fn own_oneshot() {
    let _registration = register("own-oneshot").await;
    let (sender, receiver) = oneshot::channel::<u32>();
    let _ = receiver.await;
    drop(sender);
}

async fn own_mpsc() {
    let _registration = register("own-mpsc").await;
    let (sender, mut receiver) = mpsc::channel::<u32>(1);
    let second = Box::new(sender.clone());
    receiver.recv().await;
    drop((sender, second));
}

async fn own_notify() {
    let _registration = register("own-notify").await;
    let notify = Arc::new(Notify::new());
    let second = notify.clone();
    notify.notified().await;
    second.notify_one();
}

/// A thread could use the other sender.
async fn shared_mpsc() {
    let _registration = register("shared-mpsc").await;
    let (sender, mut receiver) = mpsc::channel::<u32>(1);
    Box::leak(Box::new(sender.clone()));
    receiver.recv().await;
    drop(sender);
}

/// The sender leaves its bytes behind.
async fn moved_oneshot(is_moved: bool) {
    let _registration = register("moved-oneshot").await;
    let (sender, receiver) = oneshot::channel::<u32>();
    let is_closed = sender.is_closed();
    let mut kept = Some(sender);
    if is_moved {
        let mut elsewhere = ELSEWHERE.lock().expect("no panic while locked");
        elsewhere.extend(kept.take());
    }
    let _ = receiver.await;
    drop((kept, is_closed));
}
