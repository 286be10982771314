//! Tasks that wait for very different times, now and then for more than a second, and always go on.

use std::io;
use std::time::Duration;

use ctp_zoo::GroundTruth;
use mini_rt::{Runtime, sleep, spawn_named};

use ctp_zoo::{Sender, channel};

/// Milliseconds between messages.
const PAUSES: [u64; 10] = [10, 200, 30, 1300, 20, 80, 500, 10, 1200, 40];

async fn produce(sender: Sender<u64>) {
    for pause in PAUSES.into_iter().cycle() {
        sleep(Duration::from_millis(pause)).await;
        sender.send(pause);
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (runtime, truth) = (Runtime::new(2)?, GroundTruth::new());
    runtime.block_on(async {
        for i in 0..3 {
            let (sender, receiver) = channel();
            let (name, truth) = (format!("consumer-{i}"), truth.clone());
            spawn_named(&format!("producer-{i}"), produce(sender));
            spawn_named(&name.clone(), async move {
                loop {
                    let _waiting = truth.enter(&name, line!() + 1);
                    receiver.recv().await;
                }
            });
        }
        // During the second of the long pauses, and of the later ones.
        sleep(Duration::from_millis(2150 + 1150)).await;
    });
    truth.record(|_| false);
    std::mem::forget(runtime);
    Ok(())
}
