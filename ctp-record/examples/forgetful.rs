//! A target that forgets some of its coroutines: `forgetful TRUTH COUNT`.
//!
//! COUNT coroutines wait for descriptors at one line, are woken and run a few times, and wait again.
//! Then these descriptors are closed, and nobody wakes them. Another one waits for a signal that may
//! never come, and one more waits, is woken and runs all the time, until the program is killed.
//! TRUTH gets the line where those that are forgotten wait, once they are.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};

/// Waits of each that end.
const WAITS: usize = 4;
/// With its pause, some minutes: nobody may find it running tomorrow.
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
