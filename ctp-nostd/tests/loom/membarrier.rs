//! The kernel's membarrier, by which protocols do without a fence in the probe.

use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use loom::sync::atomic::fence;
use loom::thread;

/// Asks a processor to run a full fence at whatever instruction it is
/// just at, and returns when it has.
#[derive(Default)]
pub struct Membarrier {
    asked: AtomicBool,
    done: AtomicBool,
}

impl Membarrier {
    /// The recorder.
    pub fn issue(&self) {
        fence(SeqCst);
        self.asked.store(true, Release);
        while !self.done.load(Acquire) {
            thread::yield_now();
        }
        fence(SeqCst);
    }

    /// The processor of a probe.
    pub fn interrupt(&self) {
        while !self.asked.load(Acquire) {
            thread::yield_now();
        }
        fence(SeqCst);
        self.done.store(true, Release);
    }
}
