//! Three tasks on smol each get the next task, and wait for its end. Others are joined, and end.

use std::future::pending;
use std::thread::{self, sleep};
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, announced};
use smol::channel::{Receiver, bounded};
use smol::{Executor, Task, Timer};

type Runtime = &'static Executor<'static>;

async fn follow(next: Receiver<(Task<()>, u64)>, name: String, truth: GroundTruth) {
    let Ok((next, id)) = next.recv().await else {
        return;
    };
    let _waiting = truth.enter(&name, line!() + 1);
    announced(next, ctp::Wait::coroutine(id)).await;
}

async fn join_others(runtime: Runtime) {
    loop {
        let short = async {
            Timer::after(Duration::from_millis(20)).await;
        };
        let short = short.traced_as("short");
        let id = short.id();
        announced(runtime.spawn(short), ctp::Wait::coroutine(id)).await;
    }
}

fn main() {
    ctp::attach();
    let (runtime, truth): (Runtime, _) = (Box::leak(Box::default()), GroundTruth::new());
    let (mut senders, mut tasks) = (Vec::new(), Vec::new());
    for i in 0..3 {
        let (sender, receiver) = bounded(1);
        let name = format!("follower-{i}");
        let follower = follow(receiver, name.clone(), truth.clone()).traced_as(&name);
        let id = follower.id();
        tasks.push((runtime.spawn(follower), id));
        senders.push(sender);
    }
    tasks.rotate_left(1);
    for (sender, task) in senders.iter().zip(tasks) {
        let _ = sender.send_blocking(task);
    }
    let joiner = join_others(runtime).traced_as("joiner");
    runtime.spawn(joiner).detach();
    for _ in 0..2 {
        thread::spawn(|| smol::block_on(runtime.run(pending::<()>())));
    }
    sleep(Duration::from_millis(2500));
    truth.record(|_| true);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
