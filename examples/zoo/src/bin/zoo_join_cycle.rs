//! Three tasks each get the handle of the next, and wait for its end. Others are joined, and end.

use std::io;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Receiver, channel};
use mini_rt::{JoinHandle, Runtime, sleep, spawn_named};

async fn follow(next: Receiver<JoinHandle<()>>, name: String, truth: GroundTruth) {
    let Some(next) = next.recv().await else {
        return;
    };
    let _waiting = truth.enter(&name, line!() + 1);
    let _ = next.await;
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (runtime, truth) = (Runtime::new(2)?, GroundTruth::new());
    runtime.block_on(async {
        let mut senders = Vec::new();
        let mut handles = Vec::new();
        for i in 0..3 {
            let (sender, receiver) = channel();
            let name = format!("follower-{i}");
            let follower = follow(receiver, name.clone(), truth.clone());
            handles.push(spawn_named(&name, follower));
            senders.push(sender);
        }
        handles.rotate_left(1);
        for (sender, handle) in senders.into_iter().zip(handles) {
            sender.send(handle);
        }
        for _ in 0..25 {
            let short = spawn_named("short", sleep(Duration::from_millis(100)));
            let _ = short.await;
        }
    });
    truth.record(|_| true);
    std::mem::forget(runtime);
    Ok(())
}
