//! A target that waits for timers: `timers TRUTH [OFFSET]`.
//!
//! TRUTH receives a line for each of the four coroutines that wait for a timer: its name, and how
//! many nanoseconds after the start of its wait the timer is due, by the program's own clock. The
//! program exits while these wait and a fifth coroutine, `clock`, runs.
//!
//! With OFFSET, the program unshares a time namespace for its children, whose clock would be OFFSET
//! seconds ahead. The program's own clock does not change.
#![allow(unsafe_code, reason = "asks for a time namespace")]

use std::fs;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};
use rustix::time::{ClockId, clock_gettime};

const SECOND_NS: i64 = 1_000_000_000;
const TICK: Duration = Duration::from_millis(30);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(offset) = arguments.get(1) {
        set_offset(offset);
    }
    ctp::attach();
    let mut truth = String::new();
    for (name, due_ns) in [
        ("long-ago", -5 * SECOND_NS),
        ("soon", 10 * SECOND_NS),
        ("late", 3_600 * SECOND_NS),
    ] {
        wait_for_timer(name, || Wait::timer(now_ns().saturating_add_signed(due_ns)));
        truth += &format!("{name} {due_ns}\n");
    }
    wait_for_timer("in-an-hour", || Wait::timer_in(Duration::from_secs(3_600)));
    truth += &format!("in-an-hour {}\n", 3_600 * SECOND_NS);
    fs::write(&arguments[0], truth).expect("can be written");
    run_clock();
    std::process::exit(0);
}

/// Begins a wait that lasts until the program exits.
fn wait_for_timer(name: &str, timer: impl FnOnce() -> Wait) {
    let task = Task::born(name);
    task.run();
    task.suspend(timer());
    // A drop would record the end of the coroutine.
    std::mem::forget(task);
}

/// Lives for 300 ms, so that the overdue timer exceeds the threshold on the recorder's clock too. The
/// events of `clock` show how long the program lived, even on a busy machine.
fn run_clock() {
    let clock = Task::born("clock");
    for _ in 0..10 {
        clock.run();
        clock.suspend(Wait::timer_in(TICK));
        std::thread::sleep(TICK);
    }
    clock.run();
    std::mem::forget(clock);
}

fn set_offset(offset: &str) {
    // SAFETY: changes only the namespace of future children, and there are none.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWTIME) };
    assert_eq!(unshared, 0, "needs root");
    let line = format!("monotonic {offset} 0\n");
    fs::write("/proc/self/timens_offsets", line).expect("no child is there yet");
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND_NS as u64 + now.tv_nsec as u64
}
