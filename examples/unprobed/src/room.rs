//! Tasks that wait for room in channels.

use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::registry::{register, spawn_bare};

/// Three groups of tasks that wait for each other, and two that continue in time.
pub fn start() {
    spawn_bare(crawl());
    let (requests, pages) = (channel(1), channel(1));
    spawn_bare(relay("fetch", requests.1, pages.0));
    spawn_bare(relay("parse", pages.1, requests.0));
    spawn_bare(publish());
    let (items, slow) = channel(1);
    spawn_bare(produce(items));
    spawn_bare(store(slow));
    let (items, reader) = channel(1);
    spawn_bare(produce(items));
    spawn_bare(read_elsewhere(reader));
}

/// Waits for the end of its children, which wait until it reads what they have found.
async fn crawl() {
    let _registration = register("crawl").await;
    let (found, mut links) = channel(1);
    let mut pages = JoinSet::new();
    for _ in 0..3 {
        pages.spawn(find_links(found.clone()));
    }
    drop(found);
    while pages.join_next().await.is_some() {}
    links.recv().await;
}

async fn find_links(found: Sender<u32>) {
    for link in 0..9 {
        let _ = found.send(link).await;
    }
}

/// Sends more than there is room for, before it reads.
async fn relay(kind: &'static str, mut from: Receiver<u32>, to: Sender<u32>) {
    let _registration = register(kind).await;
    loop {
        for number in 0..9 {
            let _ = to.send(number).await;
        }
        from.recv().await;
    }
}

/// Sends to itself.
async fn publish() {
    let _registration = register("publish").await;
    let (requests, mut events) = channel(1);
    loop {
        let _ = requests.send(1).await;
        let _ = requests.send(2).await;
        events.recv().await;
    }
}

async fn produce(items: Sender<u32>) {
    let _registration = register("produce").await;
    loop {
        let _ = items.send(1).await;
    }
}

async fn store(mut items: Receiver<u32>) {
    let _registration = register("store").await;
    while items.recv().await.is_some() {
        sleep(Duration::from_secs(3600)).await;
    }
}

/// Gives the receiver to a task, and waits for that.
async fn read_elsewhere(items: Receiver<u32>) {
    let _registration = register("read_elsewhere").await;
    let _ = spawn_bare(store(items)).await;
}
