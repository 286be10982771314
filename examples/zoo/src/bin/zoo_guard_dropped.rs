//! Tasks of two threads share a mutex of the standard library, and drop its guard before they await.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::time::sleep;

async fn use_session(name: String, session: Arc<Mutex<u64>>, truth: GroundTruth) {
    loop {
        *session.lock().expect("no panic while locked") += 1;
        let _waiting = truth.enter(&name, line!() + 1);
        sleep(Duration::from_millis(5)).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp_nostd::attach();
    let runtime = two_workers()?;
    let (session, truth) = (Arc::new(Mutex::new(0)), GroundTruth::new());
    for i in 0..4 {
        let name = format!("user-{i}");
        let user = use_session(name.clone(), session.clone(), truth.clone());
        runtime.spawn(user.traced_as(&name));
    }
    thread::sleep(Duration::from_millis(2500));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
