//! A target that forgets some of its coroutines: `forgetful TRUTH COUNT`.
//!
//! COUNT coroutines wait for descriptors at the same line, are woken and run a few times, and wait
//! again. Then these descriptors are closed without a wake. Another coroutine waits for a signal
//! that may never come, and a last one waits, is woken and runs until the program is killed. TRUTH
//! receives the line of the forgotten waits.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};

/// Waits of each that end.
const WAITS: usize = 4;
/// A few minutes at its pause, so that the program never runs for long.
const ROUNDS: usize = 300_000;

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = arguments[1].parse::<i32>().expect("a number");
    let idle = Task::born("idle");
    idle.run();
    idle.suspend(Wait::user(1).idle());
    let forgotten: Vec<Task> = (0..count).map(|_| Task::born("forgotten")).collect();
    for _ in 0..WAITS {
        for (task, fd) in forgotten.iter().zip(1000..) {
            go_on(task);
            wait_for(task, fd);
        }
    }
    (1000..1000 + count).for_each(|fd| ctp::closed(fd));
    fs::write(&arguments[0], WAIT_LINE.to_string()).expect("truth can be written");
    let busy = Task::born("busy");
    for _ in 0..ROUNDS {
        go_on(&busy);
        busy.suspend(Wait::user(2));
        sleep(Duration::from_millis(1));
    }
}

fn go_on(task: &Task) {
    task.waker().wake();
    task.run();
}

const WAIT_LINE: u32 = line!() + 3;

fn wait_for(task: &Task, fd: i32) {
    task.suspend(Wait::readable(fd));
}
