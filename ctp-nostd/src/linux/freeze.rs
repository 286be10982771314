//! The wait of a frozen coroutine: a spin for a moment, then short sleeps.

use core::hint::spin_loop;

use rustix::thread::{Timespec, nanosleep};

use super::clock::kernel_ns;
use super::session;
use crate::protocol::freeze::LIMIT;

/// Usually the copy of a stack is complete within this time.
const SPIN_NS: u64 = 30_000;
/// The length of a sleep. The kernel adds about 50 µs, unless the thread asked for less.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000,
};

/// Waits until `is_frozen` returns false, for at most [`LIMIT`]. Returns false if the time is over.
///
/// The time is the kernel's, because the recorder can change the clock of events. Where the program
/// may make no system calls, the thread spins all the time.
pub(super) fn wait_while(is_frozen: impl Fn() -> bool) -> bool {
    let limit_ns = LIMIT.as_nanos() as u64;
    let may_sleep = session::current().is_some_and(|session| !session.forbids_calls);
    let begin = kernel_ns();
    while is_frozen() {
        let waited_ns = kernel_ns().saturating_sub(begin);
        if limit_ns <= waited_ns {
            return false;
        }
        if may_sleep && SPIN_NS <= waited_ns {
            // A signal ends the sleep early.
            let _ = nanosleep(&PAUSE);
        } else {
            spin_loop();
        }
    }
    true
}
