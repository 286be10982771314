//! A target that bursts at full speed: `hot TRUTH THREADS COROUTINES EVENTS`.
//!
//! Each of THREADS threads owns COROUTINES coroutines and runs and suspends them in turn, without a
//! pause, until each has had EVENTS events, including birth and death. With 0 EVENTS it runs until
//! it is killed. TRUTH receives a line for each coroutine: its name and its events.

use std::fmt::Write as _;
use std::path::Path;
use std::thread;

use ctp_nostd::{self as ctp, Task, Wait};

/// Limits the number of events, so that the program never runs for long.
const A_FEW_MINUTES: u64 = 1_000_000_000;

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse::<u64>().expect("a number");
    let (threads, coroutines, events) = (number(1), number(2), number(3));
    let ready = Path::new(&arguments[0]).with_extension("ready");
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || burst(thread, coroutines, events));
        }
        std::fs::write(ready, "").expect("can be written");
    });
    let mut truth = String::new();
    for thread in 0..threads {
        for coroutine in 0..coroutines {
            writeln!(truth, "hot-{thread}-{coroutine} {events}").expect("a string");
        }
    }
    std::fs::write(&arguments[0], truth).expect("truth can be written");
}

fn burst(thread: u64, coroutines: u64, events: u64) {
    let tasks: Vec<Task> = (0..coroutines)
        .map(|coroutine| Task::born(&format!("hot-{thread}-{coroutine}")))
        .collect();
    let middle = events.checked_sub(2).unwrap_or(A_FEW_MINUTES / coroutines);
    for event in 0..middle {
        for task in &tasks {
            match event % 2 {
                0 => task.run(),
                _ => task.suspend(Wait::user(event)),
            }
        }
    }
}
