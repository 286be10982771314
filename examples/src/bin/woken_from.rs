//! Three tasks on tokio are woken at different lines: by another task, by a thread, and by the main
//! thread. Three more are woken by parts of the runtime: timers, I/O, and the ends of tasks. Then none of
//! the six is woken any more. If the program is built with frame pointers, the report shows these lines and
//! parts as the usual wakers. Otherwise, the report shows no lines.
//!
//! The program prints a line for each of the six tasks: its name, and the function and line that wake it, or
//! the part of the runtime that does.

use std::io;
use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::Notify;

const ROUNDS: usize = 20;
const PAUSE: Duration = Duration::from_millis(2);

static OF_TASK: Notify = Notify::const_new();
static OF_THREAD: Notify = Notify::const_new();
static OF_MAIN: Notify = Notify::const_new();

/// Wakes the task that waits for `notify`, and returns the source line that does so.
fn ring(notify: &Notify) -> u32 {
    let line = line!() + 1;
    notify.notify_one();
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

async fn woken_by_timer() {
    let mut pause = PAUSE;
    for round in 0.. {
        if ROUNDS < round {
            pause = Duration::from_secs(60);
        }
        tokio::time::sleep(pause).await;
    }
}

async fn woken_by_input(mut input: UnixStream) {
    let mut byte = [0];
    while input.read_exact(&mut byte).await.is_ok() {}
}

async fn write_in_rounds(mut output: UnixStream) {
    for _ in 0..ROUNDS {
        if output.write_all(b"x").await.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
    // Keeps the stream open.
    std::future::pending().await
}

async fn woken_by_ends() {
    for round in 0.. {
        let child = async move {
            if round < ROUNDS {
                tokio::time::sleep(PAUSE).await;
            } else {
                std::future::pending().await
            }
        };
        if tokio::spawn(child.traced()).await.is_err() {
            return;
        }
    }
}

/// Starts the tasks that the runtime wakes, and prints what wakes them.
async fn start_woken_by_runtime() -> io::Result<()> {
    let (input, output) = UnixStream::pair()?;
    tokio::spawn(woken_by_timer().traced());
    tokio::spawn(woken_by_input(input).traced());
    tokio::spawn(write_in_rounds(output).traced());
    tokio::spawn(woken_by_ends().traced());
    println!("woken_by_timer runtime:timer");
    println!("woken_by_input runtime:io");
    println!("woken_by_ends runtime:task-end");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    ctp::attach();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.spawn(woken_by_task().traced());
    runtime.spawn(woken_by_thread().traced());
    runtime.spawn(woken_by_main().traced());
    runtime.block_on(start_woken_by_runtime())?;
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
