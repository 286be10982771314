//! One-hour timers, at sites that had short ones before.

use std::io;
use std::time::Duration;

use ctp_zoo::GroundTruth;
use mini_rt::{Runtime, sleep, spawn_named};

const HOUR: Duration = Duration::from_secs(3600);

async fn rest(name: String, truth: GroundTruth) {
    for time in [Duration::from_millis(5); 20].into_iter().chain([HOUR]) {
        let _waiting = truth.enter(&name, line!() + 1);
        sleep(time).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (runtime, truth) = (Runtime::new(2)?, GroundTruth::new());
    runtime.block_on(async {
        for i in 0..5 {
            let name = format!("sleeper-{i}");
            spawn_named(&name, rest(name.clone(), truth.clone()));
        }
        sleep(Duration::from_millis(2500)).await;
    });
    truth.record(|_| false);
    std::mem::forget(runtime);
    Ok(())
}
