//! A task blocks its thread in a call, while the others go on with the threads that are left.

use std::io;
use std::thread;
use std::time::Duration;

use mini_rt::{Runtime, sleep, spawn_named};

async fn block() {
    sleep(Duration::from_millis(100)).await;
    println!("busy blocker {}", rustix::thread::gettid().as_raw_nonzero());
    thread::sleep(Duration::from_secs(1000));
}

async fn tick() {
    loop {
        sleep(Duration::from_millis(20)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let runtime = Runtime::new(2)?;
    runtime.block_on(async {
        spawn_named("blocker", block());
        spawn_named("ticker", tick());
        sleep(Duration::from_millis(2500)).await;
    });
    std::mem::forget(runtime); // it would wait for the one that blocks
    Ok(())
}
