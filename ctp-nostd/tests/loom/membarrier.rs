//! A model of the kernel's membarrier, which replaces a fence in the probe.

use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use loom::sync::atomic::fence;
use loom::thread;

/// Makes another processor run a full fence at whatever instruction it is, and returns after that.
#[derive(Default)]
pub struct Membarrier {
    requested: AtomicBool,
    done: AtomicBool,
}

impl Membarrier {
    /// Called by the recorder.
    pub fn issue(&self) {
        fence(SeqCst);
        self.requested.store(true, Release);
        while !self.done.load(Acquire) {
            thread::yield_now();
        }
        fence(SeqCst);
    }

    /// Called by the processor of a probe.
    pub fn interrupt(&self) {
        while !self.requested.load(Acquire) {
            thread::yield_now();
        }
        fence(SeqCst);
        self.done.store(true, Release);
    }
}
