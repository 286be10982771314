//! Tasks that wait for several futures at once.

use std::sync::Arc;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::{Notify, OwnedRwLockReadGuard, RwLock, Semaphore, mpsc, oneshot};

use crate::{LONG, awaits_at, leaf, spawn};

/// What keeps the tasks waiting.
pub struct Kept {
    _messages: mpsc::Sender<u8>,
    _reads: OwnedRwLockReadGuard<u32>,
    _answers: Vec<oneshot::Sender<u32>>,
}

pub async fn spawn_all() -> Kept {
    let notify = Arc::new(Notify::new());
    let (messages, receiver) = mpsc::channel(1);
    spawn("selecting", selecting(notify.clone(), receiver));
    let lock = Arc::new(RwLock::new(0));
    let reads = lock.clone().read_owned().await;
    spawn("joining", joining(Arc::new(Semaphore::new(0)), lock));
    spawn("joining_all", joining_all(notify.clone()));
    let mut answers = Vec::new();
    let mut receiver = || {
        let (sender, receiver) = oneshot::channel();
        answers.push(sender);
        receiver
    };
    spawn("choosing", choosing(true, receiver(), notify.clone()));
    spawn("choosing.other", choosing(false, receiver(), notify.clone()));
    spawn("futures_select", futures_select(receiver(), notify.clone()));
    spawn("futures_join", futures_join(receiver(), notify.clone()));
    spawn("in_set", in_set(receiver(), receiver()));
    spawn("concurrently", concurrently(receiver(), receiver()));
    spawn("in_join_set", in_join_set([receiver(), receiver()]));
    spawn("trying", trying(receiver(), notify));
    Kept { _messages: messages, _reads: reads, _answers: answers }
}

async fn selecting(notify: Arc<Notify>, mut receiver: mpsc::Receiver<u8>) {
    awaits_at("selecting", line!() + 1);
    tokio::select! {
        _ = notify.notified() => {}
        _ = receiver.recv() => {}
        _ = tokio::time::sleep(LONG) => {}
    }
}

/// Two futures in a set that wait, and one that has ended.
async fn in_set(first: oneshot::Receiver<u32>, second: oneshot::Receiver<u32>) {
    let receivers = [Some(first), None, Some(second)].into_iter();
    let mut set: FuturesUnordered<_> = receivers.map(answer).collect();
    awaits_at("in_set", line!() + 1);
    while set.next().await.is_some() {}
}

/// The same, in a future of the library that has such a set.
async fn concurrently(first: oneshot::Receiver<u32>, second: oneshot::Receiver<u32>) {
    let receivers = futures::stream::iter([Some(first), None, Some(second)]);
    awaits_at("concurrently", line!() + 1);
    receivers.for_each_concurrent(None, answer).await;
}

/// Two tasks that wait, and one that was joined.
async fn in_join_set(receivers: [oneshot::Receiver<u32>; 2]) {
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(answer(None));
    let _ = tasks.join_next().await;
    for receiver in receivers {
        tasks.spawn(answer(Some(receiver)));
    }
    awaits_at("in_join_set", line!() + 1);
    while tasks.join_next().await.is_some() {}
}

async fn answer(receiver: Option<oneshot::Receiver<u32>>) {
    if let Some(receiver) = receiver {
        awaits_at("answer", line!() + 1);
        let _ = receiver.await;
    }
}

async fn joining(semaphore: Arc<Semaphore>, lock: Arc<RwLock<u32>>) {
    awaits_at("joining", line!() + 1);
    let (_permit, _guard) = tokio::join!(semaphore.acquire(), lock.write());
}

async fn joining_all(notify: Arc<Notify>) {
    awaits_at("joining_all", line!() + 1);
    futures::future::join_all([notify.notified(), notify.notified()]).await;
}

/// Waits in one of two expansions with branches of the same types.
async fn choosing(is_first: bool, receiver: oneshot::Receiver<u32>, notify: Arc<Notify>) {
    if is_first {
        awaits_at("choosing", line!() + 1);
        tokio::select! {
            _ = leaf(receiver) => {}
            _ = notify.notified() => {}
        }
    } else {
        awaits_at("choosing.other", line!() + 1);
        tokio::select! {
            _ = leaf(receiver) => {}
            _ = notify.notified() => {}
        }
    }
}

async fn futures_select(receiver: oneshot::Receiver<u32>, notify: Arc<Notify>) {
    let mut answer = Box::pin(leaf(receiver).fuse());
    let mut notified = Box::pin(notify.notified().fuse());
    awaits_at("futures_select", line!() + 1);
    futures::select! {
        _ = answer => {}
        _ = notified => {}
    }
}

async fn futures_join(receiver: oneshot::Receiver<u32>, notify: Arc<Notify>) {
    awaits_at("futures_join", line!() + 1);
    futures::join!(leaf(receiver), notify.notified());
}

async fn trying(receiver: oneshot::Receiver<u32>, notify: Arc<Notify>) {
    let answer = async {
        awaits_at("trying.answer", line!() + 1);
        Ok::<_, ()>(leaf(receiver).await)
    };
    let notified = async {
        awaits_at("trying.notified", line!() + 1);
        Err::<(), ()>(notify.notified().await)
    };
    awaits_at("trying", line!() + 1);
    let _ = tokio::try_join!(answer, notified);
}
