//! The event path as compiled into a user's program: compiled, not run. See `main.rs`.
#![no_std]

use ctp_nostd::waker::Waker;
use ctp_nostd::{Coroutine, Local, Platform, Probe, Wait};

/// A platform.
#[derive(Debug)]
pub struct Board;

static LOCAL: Local = Local::new();

#[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
// SAFETY: the functions below are compiled, and not called.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        1
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        Some(&LOCAL)
    }
}

/// Every kind of event, and the calls that go with it.
#[inline(never)]
pub fn events(probe: Probe<Board>, task: &Coroutine<Board>, waker: &Waker<Board>, wait: Wait) {
    waker.wake();
    task.run();
    task.suspend(wait);
    probe.waits_for(wait);
    task.suspend_announced();
    probe.acquired(4096usize);
    probe.released(4096usize);
}

/// The last event.
#[inline(never)]
pub fn death(task: Coroutine<Board>) {
    drop(task);
}

/// A function with a panic, to show that the check finds panics.
#[inline(never)]
pub fn control(words: &[u64], index: usize) -> u64 {
    words[index]
}
