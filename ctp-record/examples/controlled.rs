//! A target for stopping and filtering: `controlled DIRECTORY`.
//!
//! Two threads each run and suspend a coroutine at full speed; a suspend carries its start time on
//! the monotonic clock. Now and then each thread also has a short coroutine that is born, runs and
//! dies. Meanwhile the main thread takes two steps. Each step starts when a file of its name exists
//! in DIRECTORY, and ends with a file `NAME.done`:
//!
//! - `during`: resource 1 is closed, `sleeper` runs and suspends again, `mortal` dies, `late` is
//!   born, runs and suspends, and each thread has a complete short coroutine;
//! - `after`: resource 2 is closed, `late` runs and suspends again. `idle` does nothing in either
//!   step.
//!
//! The file `end` ends the program. `tids` holds the ids of the two threads. At the end, `truth`
//! has a line for each coroutine that is not short, with its name and events, and a line for all
//! short ones together.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use ctp_nostd::{self as ctp, Platform as _, Task, Wait};

/// Rounds between two short coroutines.
const SHORT_EVERY: u64 = 1000;

static IS_OVER: AtomicBool = AtomicBool::new(false);
/// Short coroutines of each thread that are over.
static SHORT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

fn main() {
    ctp::attach();
    let directory = PathBuf::from(std::env::args().nth(1).expect("a directory"));
    let directory = directory.canonicalize().expect("it exists");
    let [sleeper, mortal, idle] = ["sleeper", "mortal", "idle"].map(|name| {
        let task = Task::born(name);
        step(&task);
        task
    });
    let workers = [0, 1].map(|number| thread::spawn(move || work(number)));
    let mut tids = std::fs::read_dir("/proc/self/task")
        .expect("it has threads")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|tid| *tid != std::process::id().to_string())
        .collect::<Vec<_>>();
    tids.sort();
    make(&directory, "tids", &tids.join("\n"));

    await_file(&directory, "during");
    ctp::closed(1_u64);
    step(&sleeper);
    drop(mortal);
    let late = Task::born("late");
    step(&late);
    await_short_tasks();
    make(&directory, "during.done", "");
    await_file(&directory, "after");
    ctp::closed(2_u64);
    step(&late);
    make(&directory, "after.done", "");
    await_file(&directory, "end");
    IS_OVER.store(true, Ordering::Relaxed);
    let mut truth = "sleeper 5\nmortal 4\nidle 3\nlate 5\n".to_owned();
    let mut short = 0;
    for (number, worker) in workers.into_iter().enumerate() {
        let (events, of_short) = worker.join().expect("no panic");
        short += of_short;
        writeln!(truth, "worker-{number} {events}").expect("a string");
    }
    writeln!(truth, "short {short}").expect("a string");
    make(&directory, "truth", &truth);
    [sleeper, idle, late].into_iter().for_each(std::mem::forget);
}

fn step(task: &Task) {
    task.run();
    task.suspend(Wait::user(0));
}

/// The second short coroutine from here on is born after this point.
fn await_short_tasks() {
    for count in &SHORT {
        let before = count.load(Ordering::Relaxed);
        while count.load(Ordering::Relaxed) < before + 2 {
            sleep(Duration::from_millis(1));
        }
    }
}

/// Its own events, and those of the short coroutines.
fn work(number: usize) -> (u64, u64) {
    let task = Task::born(&format!("worker-{number}"));
    let (mut rounds, mut short) = (0, 0);
    while !IS_OVER.load(Ordering::Relaxed) {
        task.run();
        task.suspend(Wait::user(ctp::Linux::now_ns()));
        rounds += 1;
        if rounds % SHORT_EVERY == 0 {
            Task::born("short").run();
            short += 3;
            SHORT[number].fetch_add(1, Ordering::Relaxed);
        }
    }
    std::mem::forget(task);
    (1 + 2 * rounds, short)
}

/// Renamed at the end, so that a reader finds only the complete file.
fn make(directory: &Path, name: &str, text: &str) {
    let draft = directory.join("draft");
    std::fs::write(&draft, text).expect("can be written");
    std::fs::rename(draft, directory.join(name)).expect("can be renamed");
}

fn await_file(directory: &Path, name: &str) {
    while !directory.join(name).exists() {
        assert!(directory.exists(), "the test has ended");
        sleep(Duration::from_millis(1));
    }
}
