//! A target that waits for timers: `timers TRUTH [OFFSET]`.
//!
//! TRUTH receives a line for each coroutine: its name, and how many nanoseconds after the start of
//! its wait the timer is due, by the program's own clock. With OFFSET, the clock of its children
//! would be that many seconds ahead; its own is unchanged. The program ends while all coroutines
//! wait.
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
        let task = Task::born(name);
        task.run();
        task.suspend(Wait::timer(now_ns().saturating_add_signed(due_ns)));
        truth += &format!("{name} {due_ns}\n");
        std::mem::forget(task);
    }
    let task = Task::born("in-an-hour");
    task.run();
    task.suspend(Wait::timer_in(Duration::from_secs(3_600)));
    truth += &format!("in-an-hour {}\n", 3_600 * SECOND_NS);
    std::mem::forget(task);
    fs::write(&arguments[0], truth).expect("can be written");
    // So that what is overdue is so by the clock of the recorder, too. However busy the machine is, the
    // events of this coroutine show how long the program lived.
    let clock = Task::born("clock");
    for _ in 0..10 {
        clock.run();
        clock.suspend(Wait::timer_in(TICK));
        std::thread::sleep(TICK);
    }
    clock.run();
    std::process::exit(0);
}

fn set_offset(offset: &str) {
    // SAFETY: changes only the namespace of future children, and there are none.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWTIME) };
    assert_eq!(unshared, 0, "is root");
    let line = format!("monotonic {offset} 0\n");
    fs::write("/proc/self/timens_offsets", line).expect("no child is there yet");
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
