//! Guests on tokio: most ask something and leave, and some stay for news that never comes.

use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, announced, two_workers};
use tokio::sync::Notify;

static NEWS: Notify = Notify::const_new();

async fn guest(number: u32, truth: GroundTruth) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    if number.is_multiple_of(5) {
        let _waiting = truth.enter(&format!("guest-{number}"), line!() + 1);
        announced(NEWS.notified(), ctp::Wait::user(1)).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let (runtime, truth) = (two_workers()?, GroundTruth::new());
    for number in 0..100 {
        let guest = guest(number, truth.clone());
        runtime.spawn(guest.traced_as(&format!("guest-{number}")));
        sleep(Duration::from_millis(2));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
