//! What is recorded under overload, when the program emits far more events than the recorder can drain.
//!
//! For three seconds two hot threads emit without a pause, with 64 coroutines each; three calm threads
//! do a little every millisecond; and 16 wandering coroutines move between threads. Runs with default
//! options, and with lanes and a backlog that are much too small. Prints the recorded events a second,
//! and the share of each kind that was lost, compared with the counts of the threads themselves.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ctp_benches::{recorder, this_program};
use ctp_nostd::{Task, Wait};
use ctp_trace::Reader;
use ctp_trace::record::Record;

const FOR: Duration = Duration::from_secs(3);
const HOT_THREADS: usize = 2;
const CALM_THREADS: usize = 3;
const WANDERERS: usize = 16;
const KINDS: [&str; 3] = ["hot", "calm", "wanderer"];
const RUNS: usize = 3;

fn main() {
    if std::env::args().any(|argument| argument == "--as=target") {
        return target();
    }
    let Some(recorder) = recorder() else {
        return;
    };
    let small = ["--buffer", "64K", "--backlog", "8M"];
    for _ in 0..RUNS {
        measure(&recorder, &[]);
        measure(&recorder, &small);
    }
}

/// What all threads share.
#[derive(Default)]
struct Floor {
    is_over: AtomicBool,
    wanderers: Mutex<VecDeque<Task>>,
    /// Events of each kind.
    events: [AtomicU64; KINDS.len()],
}

impl Floor {
    fn born(&self, kind: usize, count: usize) -> Vec<Task> {
        self.events[kind].fetch_add(count as u64, Relaxed);
        (0..count).map(|_| Task::born(KINDS[kind])).collect()
    }

    fn take(&self, task: &Task, kind: usize) {
        task.run();
        task.suspend(Wait::user(kind as u64));
        self.events[kind].fetch_add(2, Relaxed);
    }

    /// Runs a wandering coroutine on this thread, if any is free.
    fn receive(&self) {
        let next = self.wanderers().pop_front();
        if let Some(task) = next {
            self.take(&task, 2);
            self.wanderers().push_back(task);
        }
    }

    fn wanderers(&self) -> MutexGuard<'_, VecDeque<Task>> {
        let wanderers = self.wanderers.lock();
        wanderers.unwrap_or_else(PoisonError::into_inner)
    }

    fn be_flat_out(&self) {
        let tasks = self.born(0, 64);
        for round in 1_u64.. {
            tasks.iter().for_each(Task::run);
            tasks.iter().for_each(|task| task.suspend(Wait::user(0)));
            self.events[0].fetch_add(2 * tasks.len() as u64, Relaxed);
            if round.is_multiple_of(100) {
                self.receive();
            }
            if self.is_over.load(Relaxed) {
                return tasks.into_iter().for_each(std::mem::forget);
            }
        }
    }

    fn be_calm(&self) {
        let tasks = self.born(1, 8);
        while !self.is_over.load(Relaxed) {
            tasks.iter().for_each(|task| self.take(task, 1));
            self.receive();
            thread::sleep(Duration::from_millis(1));
        }
        tasks.into_iter().for_each(std::mem::forget);
    }
}

fn target() {
    ctp_nostd::attach();
    let floor = Floor::default();
    floor.wanderers().extend(floor.born(2, WANDERERS));
    thread::scope(|scope| {
        (0..HOT_THREADS).for_each(|_| drop(scope.spawn(|| floor.be_flat_out())));
        (0..CALM_THREADS).for_each(|_| drop(scope.spawn(|| floor.be_calm())));
        thread::sleep(FOR);
        floor.is_over.store(true, Relaxed);
    });
    let events = floor.events.each_ref().map(|word| word.load(Relaxed));
    println!("{} {} {}", events[0], events[1], events[2]);
    // Dropping the tasks would emit uncounted events.
    std::mem::forget(floor);
}

fn measure(recorder: &Path, flags: &[&str]) {
    let trace = std::env::temp_dir().join(format!("ctp-overload-{}", std::process::id()));
    let output = Command::new(recorder)
        .args(["-q", "-o"])
        .arg(&trace)
        .args(flags)
        .arg("--")
        .arg(this_program())
        .arg("--as=target")
        .output()
        .expect("can run the recorder");
    let done = String::from_utf8_lossy(&output.stdout);
    let done: Vec<u64> = done.split_whitespace().flat_map(str::parse).collect();
    let recorded = recorded_in(&fs::read(&trace).expect("was written"));
    fs::remove_file(trace).expect("was made");
    let lost = KINDS.iter().zip(&done).map(|(kind, done)| {
        let recorded = recorded.get(*kind).copied().unwrap_or(0);
        let percent = 100.0 * (done.saturating_sub(recorded)) as f64 / *done as f64;
        format!("{kind} {percent:.2} % of {done}")
    });
    let all = recorded.values().sum::<u64>() as f64 / FOR.as_secs_f64() / 1e6;
    println!(
        "{:31} {all:5.1} M events a second; lost: {}",
        if flags.is_empty() {
            "defaults".into()
        } else {
            flags.join(" ")
        },
        lost.collect::<Vec<_>>().join(", ")
    );
}

/// Events of the coroutines of each name.
fn recorded_in(trace: &[u8]) -> HashMap<String, u64> {
    let mut names = HashMap::new();
    let mut recorded: HashMap<String, u64> = HashMap::new();
    for record in Reader::new(trace).expect("is a trace") {
        match record.expect("is whole") {
            Record::Birth(birth) => {
                names.insert(birth.coroutine, birth.name.to_string());
            }
            Record::Event(event) => {
                let name = names.get(&event.coroutine).cloned().unwrap_or_default();
                *recorded.entry(name).or_default() += 1;
            }
            _ => {}
        }
    }
    recorded
}
