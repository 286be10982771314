//! Three tasks on tokio are woken at different lines: by another task, by a thread, and by the main
//! thread. Then they are no longer woken. Built with frame pointers, the report shows these lines
//! as the usual wakers; otherwise it shows none.
//!
//! A line for each has the woken task, and the waking function with its line.

use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use tokio::sync::Notify;

const ROUNDS: usize = 20;
const PAUSE: Duration = Duration::from_millis(2);

static OF_TASK: Notify = Notify::const_new();
static OF_THREAD: Notify = Notify::const_new();
static OF_MAIN: Notify = Notify::const_new();

/// Returns the line of its ring.
fn ring(wake_flag: &Notify) -> u32 {
    let line = line!() + 1;
    wake_flag.notify_one();
    line
}

fn ring_in_thread() -> u32 {
    let ring = || OF_THREAD.notify_one();
    (0..ROUNDS).for_each(|_| {
        ring();
        thread::sleep(PAUSE);
    });
    line!() - 5
}

async fn ring_in_task() -> u32 {
    for _ in 0..ROUNDS {
        OF_TASK.notify_one();
        tokio::time::sleep(PAUSE).await;
    }
    line!() - 3
}

async fn woken_by_task() {
    loop {
        OF_TASK.notified().await;
    }
}

async fn woken_by_thread() {
    loop {
        OF_THREAD.notified().await;
    }
}

async fn woken_by_main() {
    loop {
        OF_MAIN.notified().await;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    ctp::attach();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    runtime.spawn(woken_by_task().traced());
    runtime.spawn(woken_by_thread().traced());
    runtime.spawn(woken_by_main().traced());
    let by_thread = thread::spawn(ring_in_thread);
    let by_task = runtime.spawn(ring_in_task().traced());
    let mut by_main = 0;
    for _ in 0..ROUNDS {
        by_main = ring(&OF_MAIN);
        thread::sleep(PAUSE);
    }
    println!("woken_by_main ring:{by_main}");
    let by_thread = by_thread.join().map_err(|_| "it panicked")?;
    println!("woken_by_thread ring_in_thread:{by_thread}");
    println!("woken_by_task ring_in_task:{}", runtime.block_on(by_task)?);
    thread::sleep(Duration::from_millis(500));
    // Exits without cancelling tasks.
    std::process::exit(0)
}
