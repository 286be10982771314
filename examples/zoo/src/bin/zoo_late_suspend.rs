//! A scheduler reports the next run before the last suspend. Between rounds it takes a lock itself,
//! on the thread that ran the tasks: no task holds it.

use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, Kind, Task, Wait};
use ctp_zoo::GroundTruth;

static LOCK: u8 = 0;
const ROUNDS: usize = 30;

/// Runs the tasks in sequence; each waits at the end.
fn round(tasks: &[Task], wait: impl Fn(usize) -> Wait) {
    let mut last: Option<usize> = None;
    for (at, next) in tasks.iter().enumerate() {
        next.run();
        if let Some(last) = last.replace(at) {
            tasks[last].suspend(wait(last));
        }
    }
    if let Some(last) = last {
        tasks[last].suspend(wait(last));
    }
}

fn wake(tasks: &[Task]) {
    tasks.iter().for_each(|task| task.waker().wake());
}

fn main() {
    ctp::attach();
    let truth = GroundTruth::new();
    let place = std::panic::Location::caller();
    let born = |name| Task::born_as(name, Kind::Stackful, place);
    let tasks = ["left", "middle", "right"].map(born);
    let lock = std::ptr::from_ref(&LOCK).addr();
    for _ in 0..ROUNDS {
        wake(&tasks);
        round(&tasks, |_| Wait::user(1));
        sleep(Duration::from_millis(1));
    }
    ctp::acquired(lock);
    wake(&tasks);
    let line = line!() + 1;
    round(&tasks, |_| Wait::lock(lock));
    let waiting = ["left", "middle", "right"].map(|name| truth.enter(name, line));
    sleep(Duration::from_millis(2300));
    truth.record(|_| false);
    std::mem::forget((tasks, waiting)); // without cancelling tasks
}
