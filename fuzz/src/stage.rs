//! A place with a clock that only counts, threads that take turns, and nobody to wake.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ctp_nostd::{Local, Platform};

const THREADS: usize = 3;

pub struct Stage;

static LOCALS: [Local; THREADS] = [const { Local::new() }; THREADS];
static ON_STAGE: AtomicUsize = AtomicUsize::new(0);
static ATTACHMENT: AtomicU32 = AtomicU32::new(1);

/// From now on this thread runs.
pub fn enter(thread: u8) {
    ON_STAGE.store(usize::from(thread) % THREADS, Relaxed);
}

/// There is one stage: whoever has it may use it, and finds it empty. What its threads remember of
/// another memory is of no use any more.
pub fn take() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    let guard = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    enter(0);
    ATTACHMENT.fetch_add(1, Relaxed);
    guard
}

// SAFETY: a fuzzer runs one input at a time, on one thread.
unsafe impl Platform for Stage {
    fn now_ns() -> u64 {
        static TICKS: AtomicU64 = AtomicU64::new(1);
        TICKS.fetch_add(1, Relaxed)
    }

    fn thread() -> u64 {
        7 + ON_STAGE.load(Relaxed) as u64
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        &ATTACHMENT
    }

    /// The first one has left when the last one comes.
    fn has_exited(thread: u32) -> bool {
        thread == 7 && Self::thread() == 6 + THREADS as u64
    }

    unsafe fn local() -> Option<&'static Local> {
        LOCALS.get(ON_STAGE.load(Relaxed))
    }
}
