//! Three workers on tokio take jobs from queues of their own, beside a keepalive that outlives the
//! `select!`, and put follow-up jobs there. A janitor makes room for them at first. Later only the
//! worker itself could make room, but the worker waits for room. The janitor of a fourth worker goes on.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;

const ROUNDS: u32 = 30;

/// The worker whose janitor goes on.
const WITH_ROOM: u32 = 3;

async fn work(room: Arc<Semaphore>, name: String, truth: GroundTruth) {
    let (queue, mut jobs) = mpsc::unbounded_channel();
    let mut keepalive = pin!(sleep(Duration::from_secs(3600)));
    let mut next = queue.send(0);
    while next.is_ok() {
        let job = tokio::select! {
            biased;
            () = &mut keepalive => return,
            job = jobs.recv() => job,
        };
        let Some(job) = job else { return };
        let _waiting = truth.enter(&name, line!() + 1);
        match room.acquire().await {
            Ok(room) => room.forget(),
            Err(_) => return,
        }
        next = queue.send(job + 1);
    }
}

async fn janitor(room: Arc<Semaphore>, rounds: u32) {
    for _ in 0..rounds {
        sleep(Duration::from_millis(3)).await;
        room.add_permits(1);
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    for i in 0..=WITH_ROOM {
        let (name, room) = (format!("worker-{i}"), Arc::new(Semaphore::new(0)));
        let worker = work(room.clone(), name.clone(), truth.clone());
        runtime.spawn(worker.traced_as(&name));
        let rounds = if i == WITH_ROOM { u32::MAX } else { ROUNDS };
        runtime.spawn(janitor(room, rounds));
    }
    truth.let_wait(Duration::from_secs(4));
    truth.record(|name| name != format!("worker-{WITH_ROOM}"));
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
