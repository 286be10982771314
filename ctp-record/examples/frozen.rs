//! A target that kills its recorder while the recorder makes a coroutine wait: `frozen OUTCOME`.
//!
//! A coroutine with a stack of its own runs and waits in turn. To copy its stack, the recorder requests that its next run
//! waits. When the program finds such a request during a run, it kills the recorder. Then the next run must end the
//! request, and this coroutine and another thread's coroutine must go on. The program writes what it saw to the file
//! OUTCOME: whether the request was in force, and counts of requests that runs ended.
#![allow(unsafe_code, reason = "maps the shared memory a second time")]

use std::fs::{self, File};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ctp_nostd::freeze::Freeze;
use ctp_nostd::layout::Station;
use ctp_nostd::{Region, Task, Wait};
use memmap2::MmapOptions;
use rustix::process::{Signal, getppid, kill_process};

/// How long the coroutine runs or waits. Longer than a copy of its stack takes.
const PHASE: Duration = Duration::from_micros(60);
/// Words on the coroutine's stack: enough for a copy to take a while.
const WORDS: usize = 12 << 10;
/// Turns of each coroutine after the recorder has been killed.
const TURNS: u64 = 1000;

static IS_OVER: AtomicBool = AtomicBool::new(false);
static OTHER_TURNS: AtomicU64 = AtomicU64::new(0);

fn main() {
    ctp_nostd::attach();
    let outcome = std::env::args().nth(1).expect("a path");
    let region = map();
    let task = Task::born("frozen");
    let other = thread::spawn(other_coroutine);
    let stack = [1_u64; WORDS];
    let freeze = turn_until_frozen(&task, &region.stations[0]);
    kill_recorder();
    let is_held = region.stations[0].is_held(freeze);
    suspend(&task);
    task.run();
    let broken = region.header.counters().broken_freezes;
    let text = format!("{is_held} {broken} {}", region.header.has_freezes());
    turn_often(&task);
    black_box(stack);
    IS_OVER.store(true, Ordering::Relaxed);
    other.join().expect("no panic");
    let broken = region.header.counters().broken_freezes;
    fs::write("draft", format!("{text} {broken}\n")).expect("can be written");
    fs::rename("draft", outcome).expect("can be renamed");
}

/// The region of this process, in a mapping that stays until the process ends.
fn map() -> Region<'static> {
    let path = std::env::var("CTP_SHM_PATH").expect("is set by the recorder");
    let mut options = File::options();
    let file = options.read(true).write(true).open(path).expect("opens");
    let map = MmapOptions::new().map_raw(&file).expect("can be mapped");
    let map = Box::leak(Box::new(map));
    // SAFETY: mapped shared for good, and sealed against truncation.
    unsafe { Region::new(map.as_mut_ptr(), map.len(), u32::MAX) }.expect("a region")
}

/// Lets the coroutine run and wait in turn, until the recorder requests that its next run waits.
fn turn_until_frozen(task: &Task, station: &Station) -> Freeze {
    let generation = station.identity().expect("a coroutine").generation;
    loop {
        task.run();
        let begin = Instant::now();
        while begin.elapsed() < PHASE {
            if let Some(freeze) = station.freeze(generation) {
                return freeze;
            }
        }
        suspend(task);
    }
}

#[inline(never)]
fn suspend(task: &Task) {
    let local = black_box(7_u64);
    task.suspend_with_stack(Wait::to_yield());
    let begin = Instant::now();
    while begin.elapsed() < PHASE {
        spin_loop();
    }
    black_box(local);
}

/// Kills the recorder, which started this program, and waits for its end.
fn kill_recorder() {
    let recorder = getppid();
    kill_process(recorder.expect("a parent"), Signal::KILL).expect("is there");
    while getppid() == recorder {
        thread::yield_now();
    }
}

fn other_coroutine() {
    let task = Task::born("other");
    while !IS_OVER.load(Ordering::Relaxed) {
        task.run();
        task.suspend_with_stack(Wait::to_yield());
        OTHER_TURNS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lets this coroutine, and then the other, run and wait [`TURNS`] times.
fn turn_often(task: &Task) {
    for _ in 0..TURNS {
        task.suspend_with_stack(Wait::to_yield());
        task.run();
    }
    let turns = OTHER_TURNS.load(Ordering::Relaxed);
    while OTHER_TURNS.load(Ordering::Relaxed) < turns + TURNS {
        thread::yield_now();
    }
}
