//! How long the program stands still.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static LONGEST_NS: AtomicU64 = AtomicU64::new(0);

/// Starts a thread that measures.
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

/// The longest time between two steps of the thread since the last call.
pub fn longest() -> Duration {
    Duration::from_nanos(LONGEST_NS.swap(0, Ordering::Relaxed))
}
