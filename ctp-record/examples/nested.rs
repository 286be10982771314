//! Signals that come amid events: `nested TRUTH EVENTS`.
//!
//! A coroutine runs and suspends flat out, EVENTS times in all, birth and death included, while a
//! timer interrupts it every 50 us with a handler in which another one runs and suspends. TRUTH
//! gets a line for each: its name and its events.
#![allow(unsafe_code, reason = "a signal handler")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ctp_nostd::{self as ctp, Task, Wait};

/// Only the handler touches it, on the one thread that there is.
struct Inner(Task);

// SAFETY: see there.
unsafe impl Sync for Inner {}
// SAFETY: see there.
unsafe impl Send for Inner {}

static INNER: OnceLock<Inner> = OnceLock::new();
static INNER_EVENTS: AtomicU64 = AtomicU64::new(1);

extern "C" fn interrupt(_: libc::c_int) {
    if let Some(Inner(task)) = INNER.get() {
        task.run();
        task.suspend(Wait::user(1));
        INNER_EVENTS.fetch_add(2, Ordering::Relaxed);
    }
}

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let events: u64 = arguments[1].parse().expect("a number");
    INNER.get_or_init(|| Inner(Task::born("inner")));
    let outer = Task::born("outer");
    interrupt_every(50);
    for _ in 0..events / 2 - 1 {
        outer.run();
        outer.suspend(Wait::user(2));
    }
    interrupt_every(0);
    drop(outer);
    let inner = INNER_EVENTS.load(Ordering::Relaxed);
    let truth = format!("outer {}\ninner {inner}\n", events / 2 * 2);
    std::fs::write(&arguments[0], truth).expect("truth can be written");
}

/// 0 for never again.
fn interrupt_every(microseconds: libc::suseconds_t) {
    let period = libc::timeval {
        tv_sec: 0,
        tv_usec: microseconds,
    };
    let timer = libc::itimerval {
        it_interval: period,
        it_value: period,
    };
    let handler = interrupt as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler touches atomics only, and the timer is a plain value.
    unsafe {
        libc::signal(libc::SIGALRM, handler);
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
}
