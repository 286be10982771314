//! Starts a thread for each way to call `block_on`. Each future waits for ever, except for `blocks`, which occupies its
//! thread.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Mutex, Notify};
use tokio::task::LocalSet;

use crate::registry::{awaits_at, expect_unregistered_start, note_started};

/// Starts all threads.
pub fn start() {
    let handle = Handle::current();
    start_thread(move || handle.block_on(on_shared_runtime()));
    start_thread(|| own_runtime().block_on(on_own_runtime()));
    start_thread(|| LocalSet::new().block_on(&own_runtime(), in_local_set()));
    start_thread(|| own_runtime().block_on(with_large_state()));
    let handle = Handle::current();
    start_thread(move || handle.block_on(joins_its_waiter()));
    start_thread(|| own_runtime().block_on(blocks()));
}

fn start_thread(run: impl FnOnce() + Send + 'static) {
    expect_unregistered_start();
    std::thread::spawn(run);
}

fn own_runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

fn forever() -> impl Future<Output = ()> {
    let notify: &Notify = Box::leak(Box::new(Notify::new()));
    notify.notified()
}

async fn on_shared_runtime() {
    awaits_at("on_shared_runtime", line!() + 2);
    note_started();
    forever().await;
}

async fn on_own_runtime() {
    awaits_at("on_own_runtime", line!() + 2);
    note_started();
    forever().await;
}

async fn in_local_set() {
    awaits_at("in_local_set", line!() + 2);
    note_started();
    forever().await;
}

/// Has so large a state that tokio moves it to the heap.
async fn with_large_state() {
    let mut state = [0_u8; 20_000];
    // The index is not known to the compiler, so that the array stays.
    state[std::process::id() as usize % state.len()] = 1;
    awaits_at("with_large_state", line!() + 2);
    note_started();
    forever().await;
    std::hint::black_box(&state);
}

/// Waits for a task that waits for a lock which this future holds.
async fn joins_its_waiter() {
    let lock: &'static Mutex<()> = Box::leak(Box::new(Mutex::new(())));
    let _guard = lock.lock().await;
    awaits_at("joins_its_waiter", line!() + 2);
    note_started();
    let _ = tokio::spawn(waits_for(lock)).await;
}

async fn waits_for(lock: &'static Mutex<()>) {
    let _guard = lock.lock().await;
}

/// Yields once, as any future of a program may, and then blocks: the thread sleeps inside a poll of this future.
async fn blocks() {
    tokio::task::yield_now().await;
    note_started();
    std::thread::sleep(Duration::from_secs(3600));
}
