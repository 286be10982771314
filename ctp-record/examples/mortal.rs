//! A target to be killed: `mortal TRUTH THREADS COROUTINES EVENTS [AT_MOST]`.
//!
//! THREADS threads share COROUTINES coroutines. Each thread takes a free coroutine, runs and
//! suspends it a few times, and returns it. After EVENTS events a coroutine dies, and another takes
//! its place. The resource of a suspend is computed from coroutine, index and thread, so that parts
//! of two events never fit together. A thread with AT_MOST events waits for the end, which comes at
//! the latest when no other process has TRUTH open.
//!
//! TRUTH is a mapped file, so it survives the program. It has three words for each coroutine in
//! order of birth: events begun, events done, and its id.
#![allow(
    unsafe_code,
    reason = "the truth has to survive, so it is memory shared with a file"
)]

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, compiler_fence};
use std::thread;
use std::time::{Duration, Instant};

use ctp_nostd::{self as ctp, Task, Wait};
use memmap2::MmapRaw;

/// Room for the truth of so many coroutines. The last of them do not die.
const ROWS: usize = 60_000;
/// Limits the life of the program.
const MAX_TIME: Duration = Duration::from_secs(1_800);

const LOOK_EVERY: Duration = Duration::from_millis(20);

static IS_OVER: AtomicBool = AtomicBool::new(false);

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse::<usize>().expect("a number");
    let truth = Truth::create(&arguments[0]);
    let coroutines: Vec<Mutex<Mortal>> = (0..number(2))
        .map(|_| Mutex::new(truth.birth().expect("there is room for the first")))
        .collect();
    let (events, at_most) = (
        number(3) as u64,
        arguments.get(4).map_or(u64::MAX, |_| number(4) as u64),
    );
    thread::scope(|scope| {
        for thread in 0..number(1) {
            let (truth, coroutines) = (&truth, &coroutines[..]);
            scope.spawn(move || Carrier::new(truth, coroutines, events, thread).work(at_most));
        }
        let begin = Instant::now();
        while Path::new(&arguments[0]).exists() && begin.elapsed() < MAX_TIME {
            thread::sleep(LOOK_EVERY);
        }
        IS_OVER.store(true, Relaxed);
    });
}

/// A thread that runs different coroutines in turn.
struct Carrier<'t> {
    truth: &'t Truth,
    coroutines: &'t [Mutex<Mortal<'t>>],
    /// Of each coroutine.
    events: u64,
    tid: u64,
    random: Random,
}

impl<'t> Carrier<'t> {
    fn new(
        truth: &'t Truth,
        coroutines: &'t [Mutex<Mortal<'t>>],
        events: u64,
        thread: usize,
    ) -> Self {
        Carrier {
            truth,
            coroutines,
            events,
            tid: rustix::thread::gettid().as_raw_nonzero().get() as u64,
            random: Random(thread as u64 + 1),
        }
    }

    fn work(&mut self, at_most: u64) {
        let mut made = 0;
        while made < at_most && !IS_OVER.load(Relaxed) {
            made += self.carry();
        }
        while !IS_OVER.load(Relaxed) {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// How many events that made.
    fn carry(&mut self) -> u64 {
        let chosen = self.random.below(self.coroutines.len());
        let Ok(mut mutex_guard) = self.coroutines[chosen].try_lock() else {
            return 0;
        };
        let mut made = 0;
        for _ in 0..=self.random.below(6) {
            if mutex_guard.n + 1 >= self.events
                && let Some(next) = self.truth.birth()
            {
                mutex_guard.witness(|mortal| mortal.task = Task::mute());
                *mutex_guard = next;
                made += 2;
            }
            mutex_guard.step(self.tid);
            made += 1;
        }
        made
    }
}

/// A coroutine, its row in the truth file, and its number of events.
struct Mortal<'t> {
    row: usize,
    words: &'t [AtomicU64; 3],
    task: Task,
    n: u64,
}

impl Mortal<'_> {
    fn step(&mut self, tid: u64) {
        let argument = argument(self.row as u64, self.n, tid);
        self.witness(|mortal| match mortal.n % 2 {
            1 => mortal.task.run(),
            _ => mortal.task.suspend(Wait::user(argument)),
        });
    }

    /// Makes an event, between two log entries. These are plain stores in program order, which is
    /// enough if the program is killed: a processor completes the stores that it began.
    fn witness(&mut self, act: impl FnOnce(&mut Self)) {
        self.words[0].store(self.n + 1, Relaxed);
        compiler_fence(SeqCst);
        act(self);
        compiler_fence(SeqCst);
        self.n += 1;
        self.words[1].store(self.n, Relaxed);
    }
}

/// The same arithmetic stands in the test.
fn argument(row: u64, n: u64, tid: u64) -> u64 {
    (row << 40 | n << 20 | tid).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

struct Truth {
    map: MmapRaw,
    taken: AtomicUsize,
}

impl Truth {
    fn create(path: &str) -> Self {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).open(path);
        let file = file.expect("can be made");
        file.set_len((ROWS * 24) as u64).expect("there is room");
        Truth {
            map: MmapRaw::map_raw(&file).expect("can be mapped"),
            taken: AtomicUsize::new(0),
        }
    }

    /// A coroutine in the next row, unless all are taken.
    fn birth(&self) -> Option<Mortal<'_>> {
        let row = self.taken.fetch_add(1, Relaxed);
        let words = self.row(row)?;
        let mut mortal = Mortal {
            row,
            words,
            task: Task::mute(),
            n: 0,
        };
        mortal.witness(|state| state.task = Task::born("mortal"));
        words[2].store(mortal.task.id(), Relaxed);
        Some(mortal)
    }

    fn row(&self, row: usize) -> Option<&[AtomicU64; 3]> {
        // SAFETY: the mapping holds ROWS rows of three words each, is aligned to a page, lives as
        // long as `self`, and is used through these atomics only.
        let rows: &[[AtomicU64; 3]; ROWS] = unsafe { &*self.map.as_ptr().cast() };
        rows.get(row)
    }
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}
