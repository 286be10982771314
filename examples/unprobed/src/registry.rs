//! What the program itself knows of its tasks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::Future;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

static SPAWNED: AtomicUsize = AtomicUsize::new(0);
static STARTED: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);
static LINES: Mutex<BTreeMap<&str, u32>> = Mutex::new(BTreeMap::new());
static TASKS: Mutex<BTreeMap<u64, Entry>> = Mutex::new(BTreeMap::new());

/// What happened last at an address.
#[derive(Default)]
struct Entry {
    serial: usize,
    is_alive: bool,
    kind: &'static str,
}

/// The entry of a task that lives. Dropped when the task ends.
pub struct Registration(u64);

/// Spawns a task of a kind.
pub fn spawn<F>(kind: &'static str, future: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_bare(async move {
        let _registration = register(kind).await;
        future.await
    })
}

/// Spawns a future that registers itself.
pub fn spawn_bare<F>(future: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    SPAWNED.fetch_add(1, Ordering::SeqCst);
    tokio::spawn(future)
}

/// Notes that a future will start which does not register itself.
pub fn expect_unregistered_start() {
    SPAWNED.fetch_add(1, Ordering::SeqCst);
}

/// Notes that such a future has started.
pub fn note_started() {
    STARTED.fetch_add(1, Ordering::SeqCst);
}

/// Registers the task that runs.
pub async fn register(kind: &'static str) -> Registration {
    std::future::poll_fn(|context| Poll::Ready(Registration(enter(kind, context)))).await
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut tasks = TASKS.lock().expect("no panic while locked");
        tasks.entry(self.0).or_default().is_alive = false;
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
}

fn enter(kind: &'static str, context: &Context<'_>) -> u64 {
    let address = address(context);
    let serial = STARTED.fetch_add(1, Ordering::SeqCst) + 1;
    let entry = Entry {
        serial,
        is_alive: true,
        kind,
    };
    TASKS
        .lock()
        .expect("no panic while locked")
        .insert(address, entry);
    address
}

/// The waker's data, as it prints itself: `Waker { data: 0x7f3c08000b80, vtable: 0x55c0e1a3b8d8 }`.
fn address(context: &Context<'_>) -> u64 {
    let text = format!("{:?}", context.waker());
    let data = text.split("data: 0x").nth(1).expect("the data");
    let end = data
        .find(|c: char| !c.is_ascii_hexdigit())
        .expect("more text");
    u64::from_str_radix(&data[..end], 16).expect("an address")
}

/// Notes the line at which tasks of a kind await.
pub fn awaits_at(kind: &'static str, line: u32) {
    LINES
        .lock()
        .expect("no panic while locked")
        .insert(kind, line);
}

/// Waits until each spawned task has been polled, and some time more in which they reach their waits.
pub fn wait_until_started() {
    while STARTED.load(Ordering::SeqCst) < SPAWNED.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100));
}

/// A line for each address.
pub fn tasks() -> String {
    let mut text = String::new();
    for (address, entry) in &*TASKS.lock().expect("no panic while locked") {
        let state = if entry.is_alive { "alive" } else { "ended" };
        let Entry { serial, kind, .. } = entry;
        writeln!(text, "{address:#x} {serial} {state} {kind}").expect("writing to memory");
    }
    text + "end\n"
}

/// A line for each kind of task that says at which line it awaits.
pub fn lines() -> String {
    let mut text = String::new();
    for (kind, line) in &*LINES.lock().expect("no panic while locked") {
        writeln!(text, "{kind} {line}").expect("writing to memory");
    }
    text + "end\n"
}

/// How many tasks were spawned and how many have ended.
pub fn counts() -> String {
    let ended = ENDED.load(Ordering::SeqCst);
    format!("{} {ended}", SPAWNED.load(Ordering::SeqCst))
}
