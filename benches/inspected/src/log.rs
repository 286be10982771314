//! Logs when tasks begin and end, as the program itself knows. Each task has three events:
//!
//! | event | logged | so that |
//! | --- | --- | --- |
//! | `spawned` | after the task was spawned | from then on, it lives |
//! | `ends` | as the last action of its future | until then, it lives |
//! | `ended` | after its handle was awaited | from then on, it does not live |
//!
//! A task that ends may log `ends` before `spawned`.

use std::fmt::Write as _;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::{Id, JoinHandle};

static LOG: Mutex<Log> = Mutex::new(Log {
    position: 0,
    events: Vec::new(),
});
static STARTED: AtomicU64 = AtomicU64::new(0);
static SPAWNED: AtomicU64 = AtomicU64::new(0);

struct Log {
    /// The position of the first of `events`: how many events were taken out of the log.
    position: u64,
    events: Vec<(&'static str, Id)>,
}

/// A task that was spawned.
pub struct Task(JoinHandle<()>);

/// Logs that a task ends. The future of the task owns this, and drops it last.
struct EndLogger(Id);

impl Drop for EndLogger {
    fn drop(&mut self) {
        note("ends", self.0);
    }
}

/// Spawns a task and logs its life.
pub fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Task {
    SPAWNED.fetch_add(1, Ordering::Relaxed);
    let handle = tokio::spawn(async {
        let _end_logger = EndLogger(tokio::task::id());
        STARTED.fetch_add(1, Ordering::Relaxed);
        future.await;
    });
    note("spawned", handle.id());
    Task(handle)
}

impl Task {
    /// Waits until the task has ended, and logs this.
    pub async fn join(self) {
        let id = self.0.id();
        self.0.await.expect("tasks do not panic");
        note("ended", id);
    }
}

fn note(event: &'static str, id: Id) {
    log().events.push((event, id));
}

/// Locks the log, which is complete even if a thread panicked while it held the lock.
fn log() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many events were logged so far.
pub fn position() -> u64 {
    let log = log();
    log.position + log.events.len() as u64
}

/// Removes the events from the log, and returns them as text.
pub fn take_events() -> String {
    let mut log = log();
    let first = log.position;
    let events = std::mem::take(&mut log.events);
    log.position += events.len() as u64;
    drop(log);
    let mut text = format!("{first} {}\n", events.len());
    for (event, id) in events {
        writeln!(text, "{event} {id}").expect("writing to memory");
    }
    text
}

/// Waits until each task has been polled, and then some time in which the tasks reach their waits.
pub fn wait_until_started() {
    let before = SPAWNED.load(Ordering::Relaxed);
    while STARTED.load(Ordering::Relaxed) < before {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(200));
}
