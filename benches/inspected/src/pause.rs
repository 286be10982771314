//! Measures for how long the program stands still.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static LONGEST_NS: AtomicU64 = AtomicU64::new(0);

/// Starts a thread that measures how long its sleeps of a millisecond take.
pub fn watch() {
    thread::spawn(|| {
        loop {
            let began = Instant::now();
            thread::sleep(Duration::from_millis(1));
            let ns = began.elapsed().as_nanos() as u64;
            LONGEST_NS.fetch_max(ns, Ordering::Relaxed);
        }
    });
}

/// Returns the longest pause of the thread since the last call.
pub fn take_longest() -> Duration {
    Duration::from_nanos(LONGEST_NS.swap(0, Ordering::Relaxed))
}
