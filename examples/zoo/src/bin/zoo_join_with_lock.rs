//! Refreshers on tokio start tasks that want the lock of their state, and join them. One of them keeps the lock
//! meanwhile, once, so that its tasks wait for it, and it for them. Another joins a task that sleeps for an hour.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::sleep;

const ROUNDS: u64 = 200;

async fn update(state: Arc<Mutex<u64>>, name: String, truth: GroundTruth) {
    sleep(Duration::from_millis(1)).await;
    let _waiting = truth.enter(&name, line!() + 1);
    *state.lock().await += 1;
}

async fn refresh(name: String, keeps: bool, truth: GroundTruth) {
    let state = Arc::new(Mutex::new(0));
    for round in 0.. {
        let mut updates = JoinSet::new();
        for number in 0..4 {
            let name = format!("{name}-update-{number}");
            let update = update(state.clone(), name.clone(), truth.clone());
            updates.spawn(update.traced_as(&name));
        }
        if round == ROUNDS && !keeps {
            updates.spawn(async { sleep(Duration::from_secs(3600)).await }.traced_as("sleeper"));
        }
        let guard = if keeps && round == ROUNDS {
            Some(state.lock().await)
        } else {
            None
        };
        let _waiting = truth.enter(&name, line!() + 1);
        while updates.join_next().await.is_some() {}
        drop(guard);
        sleep(Duration::from_millis(5)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    for (name, keeps) in [("keeper", true), ("patient", false)] {
        let refresher = refresh(name.to_owned(), keeps, truth.clone());
        runtime.spawn(refresher.traced_as(name));
    }
    truth.let_wait(Duration::from_secs(3));
    truth.record_with_victims(
        |name| name == "keeper",
        |name| name.starts_with("keeper-update"),
    );
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
