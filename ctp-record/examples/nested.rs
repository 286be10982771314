//! Signals during events: `nested TRUTH EVENTS`.
//!
//! A coroutine runs and suspends at full speed, EVENTS times in total, alone and in turns with
//! another coroutine. A timer interrupts it every 50 us with a handler, which runs and suspends
//! both the handler's coroutine and the interrupted one. TRUTH receives a line for each coroutine:
//! its name and its events.
#![allow(unsafe_code, reason = "a signal handler")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ctp_nostd::{self as ctp, Task, Wait};

/// The interrupted coroutine and the handler's, on the only thread.
struct Tasks([Task; 2]);

// SAFETY: see there.
unsafe impl Sync for Tasks {}
// SAFETY: see there.
unsafe impl Send for Tasks {}

static TASKS: OnceLock<Tasks> = OnceLock::new();
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn interrupt(_: libc::c_int) {
    if let Some(Tasks(tasks)) = TASKS.get() {
        HANDLED.fetch_add(1, Ordering::Relaxed);
        for task in tasks {
            task.run();
            task.suspend(Wait::user(1));
        }
    }
}

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let events: u64 = arguments[1].parse().expect("a number");
    let Tasks([outer, inner]) =
        TASKS.get_or_init(|| Tasks([Task::born("outer"), Task::born("inner")]));
    interrupt_every(50);
    for _ in 0..events / 4 {
        outer.run();
        outer.suspend(Wait::user(2));
        inner.switch_to(Wait::user(3), outer);
        outer.switch_to(Wait::user(2), inner);
    }
    interrupt_every(0);
    let handled = 2 * HANDLED.load(Ordering::Relaxed);
    let (own, others) = (events / 4 * 4, events / 4 * 2);
    let truth = format!(
        "outer {}\ninner {}\n",
        1 + own + handled,
        1 + others + handled
    );
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
