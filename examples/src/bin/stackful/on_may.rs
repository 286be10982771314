//! Starts coroutines of the crate `may`, a runtime that schedules its coroutines itself, on any of its threads.

use std::time::Duration;

use ctp_nostd::Task;
use may::coroutine::{self, Builder};

use crate::chain::session;
use crate::{SILENT, THREADS};

/// The size of a stack, in words.
const STACK_WORDS: usize = 4 << 10;
/// The time between two runs of a coroutine.
const PERIOD: Duration = Duration::from_millis(20);

/// Starts this many coroutines.
#[allow(unsafe_code, reason = "calls an unsafe function of may")]
pub fn start(count: u32) {
    may::config().set_workers(THREADS as usize);
    for number in 0..count {
        let builder = Builder::new().stack_size(STACK_WORDS);
        // SAFETY: the coroutine uses no thread-local storage across a switch, and its stack is larger than its frames.
        let handle = unsafe { builder.spawn(move || run(number)) };
        handle.expect("memory for a stack");
    }
}

fn run(number: u32) {
    let task = Task::born("session");
    task.run();
    session(&task, number, &|| {
        match number.is_multiple_of(SILENT) {
            true => coroutine::park(),
            false => coroutine::sleep(PERIOD),
        }
        task.run();
    });
}
