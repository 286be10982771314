//! Ends the report before it exceeds its memory limit.
//!
//! Data from a trace, and from the files that the trace names, is counted before it is kept. Views add
//! rows, proofs and names for each coroutine, site or group, which are not counted. A malicious trace
//! may make these many times larger than the trace. Watching the whole process bounds every view.

use std::io::{self, Write as _};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, Thread};
use std::time::Duration;

use super::resident_bytes;

/// The limit in bytes. There is no limit before the trace is opened.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// The thread that checks, once it has started.
static WATCH: OnceLock<Thread> = OnceLock::new();

/// Whether the process only waits, so that it cannot become larger.
static RESTS: AtomicBool = AtomicBool::new(false);

/// What is done before the process is ended.
static LAST_ACT: OnceLock<fn()> = OnceLock::new();

/// The time between two checks. A check takes some microseconds.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);
/// Memory that the process may take between two checks, even on a busy machine.
const SLACK_BYTES: u64 = 24 << 20;

pub(super) fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Relaxed);
}

/// Suspends the checks while this program only waits. They would take as long as all else that a live table does.
pub fn rest() {
    RESTS.store(true, Relaxed);
}

/// Resumes the checks.
pub fn watch_again() {
    RESTS.store(false, Relaxed);
    if let Some(watch) = WATCH.get() {
        watch.unpark();
    }
}

/// Sets what is done before the process is ended because it is too large.
pub fn set_last_act(act: fn()) {
    // The first act stays.
    let _ = LAST_ACT.set(act);
}

/// Starts a thread that watches the memory of this process. Before the limit is exceeded, the thread
/// ends the process with a message and status 1.
pub fn end_when_too_large() {
    let watch = thread::Builder::new().name("memory".to_owned());
    // If the thread cannot start, the report works without a limit.
    let started = watch.spawn(|| {
        loop {
            while RESTS.load(Relaxed) {
                thread::park();
            }
            let limit = LIMIT.load(Relaxed);
            let most = limit - SLACK_BYTES.min(limit / 4);
            if resident_bytes().is_some_and(|bytes| most < bytes) {
                end(limit);
            }
            thread::sleep(CHECK_INTERVAL);
        }
    });
    if let Ok(started) = started {
        WATCH.get_or_init(|| started.thread().clone());
    }
}

fn end(limit: u64) -> ! {
    if let Some(act) = LAST_ACT.get() {
        act();
    }
    // If standard error is closed, only the exit status reports this.
    let _ = writeln!(
        io::stderr(),
        "ctp-report: the requested view takes more than {} MiB of memory, far more than the size of \
         the trace suggests: allow more with --max-memory, or record again",
        limit >> 20
    );
    process::exit(1)
}
