//! Sessions on tokio join the helpers of their group. Now and then a group has the session itself, which then waits
//! for its own end.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::task::JoinHandle;
use tokio::time::sleep;

type Group = Arc<Mutex<Vec<JoinHandle<()>>>>;

async fn hold_session(group: Group, name: String, truth: GroundTruth) {
    sleep(Duration::from_millis(3)).await;
    let others = std::mem::take(&mut *group.lock().unwrap_or_else(PoisonError::into_inner));
    for other in others {
        let _waiting = truth.enter(&name, line!() + 1);
        let _ = other.await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    for number in 0..600 {
        let group = Group::default();
        let helper = async { sleep(Duration::from_millis(5)).await }.traced_as("helper");
        let name = format!("session-{number}");
        let session = hold_session(group.clone(), name.clone(), truth.clone());
        let mut all = group.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(runtime.spawn(helper));
        let session = runtime.spawn(session.traced_as(&name));
        if number < 300 && number % 100 == 50 {
            all.push(session);
        }
        drop(all);
        std::thread::sleep(Duration::from_millis(5));
    }
    truth.let_wait(Duration::from_secs(3));
    truth.record(|_| true);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
