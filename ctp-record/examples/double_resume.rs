//! A scheduler with a bug: `double_resume TRUTH HOW ROUNDS`.
//!
//! Two threads run the coroutine `twice` at the same time, ROUNDS times. HOW says how their calls
//! of the probe interleave: `locked` (in sequence, all runs of a round before its suspends) or
//! `racing` (at once). Each thread also runs and suspends a correct coroutine, `honest-0` and
//! `honest-1`. TRUTH receives the ids of both threads.
#![allow(
    unsafe_code,
    reason = "the compiler keeps a coroutine to one thread at a time"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};

/// What no scheduler may do.
struct Shared(Task);

// SAFETY: none. This is the bug: a trace belongs to one thread at a time.
unsafe impl Sync for Shared {}

struct Bug {
    task: Shared,
    lock: Option<Mutex<()>>,
    met: AtomicU64,
    rounds: u64,
}

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let bug = Arc::new(Bug {
        task: Shared(Task::born("twice")),
        lock: (arguments[1] == "locked").then(Mutex::default),
        met: AtomicU64::new(0),
        rounds: arguments[2].parse().expect("a number"),
    });
    let threads = [0, 1].map(|index| {
        let bug = Arc::clone(&bug);
        thread::spawn(move || resume(&bug, index))
    });
    let tids = threads.map(|thread| thread.join().expect("ends"));
    std::fs::write(&arguments[0], format!("{} {}\n", tids[0], tids[1]))
        .expect("truth can be written");
}

fn resume(bug: &Bug, index: u64) -> i32 {
    let honest = Task::born(&format!("honest-{index}"));
    for round in 0..bug.rounds {
        honest.run();
        bug.meet(4 * round + 2);
        bug.call(|twice| twice.run());
        bug.meet(4 * round + 4);
        bug.call(|twice| twice.suspend(Wait::user(round)));
        honest.suspend(Wait::user(round));
        thread::sleep(Duration::from_micros(500));
    }
    rustix::thread::gettid().as_raw_nonzero().get()
}

impl Bug {
    /// Returns when both threads are here, as simultaneously as a spinning processor allows.
    fn meet(&self, arrivals: u64) {
        self.met.fetch_add(1, Ordering::SeqCst);
        let mut tries = 0_u32;
        while self.met.load(Ordering::SeqCst) < arrivals {
            tries += 1;
            if tries.is_multiple_of(1000) {
                thread::yield_now();
            }
        }
    }

    fn call(&self, act: impl FnOnce(&Task)) {
        let _guard = self.lock.as_ref().map(|lock| lock.lock());
        act(&self.task.0);
    }
}
