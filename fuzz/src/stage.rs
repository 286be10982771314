//! A platform for fuzzing: a clock that counts calls, simulated threads, and no recorder to notify.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ctp_nostd::{Local, Platform};

const THREADS: usize = 3;

pub struct Stage;

static LOCALS: [Local; THREADS] = [const { Local::new() }; THREADS];
static CURRENT_THREAD: AtomicUsize = AtomicUsize::new(0);
static ATTACHMENT: AtomicU32 = AtomicU32::new(1);

/// Makes this simulated thread the current thread.
pub fn enter(thread: u8) {
    CURRENT_THREAD.store(usize::from(thread) % THREADS, Relaxed);
}

/// Locks the platform for an input, since the state is global, and resets it. A new attachment number
/// makes the threads forget their lanes in an earlier memory.
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
        7 + CURRENT_THREAD.load(Relaxed) as u64
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        &ATTACHMENT
    }

    /// The first thread has exited while the last thread is current.
    fn has_exited(thread: u32) -> bool {
        thread == 7 && Self::thread() == 6 + THREADS as u64
    }

    unsafe fn local() -> Option<&'static Local> {
        LOCALS.get(CURRENT_THREAD.load(Relaxed))
    }
}
