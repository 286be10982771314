//! What a machine is like where figures alone do not carry over: of two processors that share a
//! core, or are far from each other, the same program takes another time.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::Instant;

use rustix::io;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const TURNS: u32 = 5_000;
const ROUNDS: usize = 21;

/// How long a cache line takes from the first processor to the second and back: the processors of a
/// virtual machine may move while a benchmark goes on.
#[derive(Debug, Default)]
pub struct Distance {
    all_ns: Vec<f64>,
}

impl Distance {
    /// Measures it now, if there are two processors.
    pub fn measure(&mut self) {
        if let [first, second, ..] = processors()[..] {
            self.all_ns.push(there_and_back_ns(first, second));
            self.all_ns.sort_by(f64::total_cmp);
        }
    }

    /// Says what it was.
    pub fn report(&self) {
        if let [least, .., most] = self.all_ns[..] {
            println!(
                "a cache line takes {least:.0} to {most:.0} ns from one processor to the other and back"
            );
        }
    }
}

/// Those on which this thread may run.
fn processors() -> Vec<usize> {
    let may = sched_getaffinity(None);
    let is_one = |processor: &usize| may.is_ok_and(|may| may.is_set(*processor));
    (0..CpuSet::MAX_CPU).filter(is_one).collect()
}

/// The median of some rounds; two threads write one word in turns.
fn there_and_back_ns(first: usize, second: usize) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round_ns(first, second)).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn round_ns(first: usize, second: usize) -> f64 {
    let word = Word(AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            // On another one it counts all the same; to panic would have the other thread spin for ever.
            let _ = stay_on(second);
            (0..TURNS).for_each(|turn| word.pass(2 * turn + 1));
        });
        let timed = scope.spawn(|| {
            let _ = stay_on(first);
            // The other one is there when it has answered once.
            word.pass(0);
            word.wait_for(2);
            let begin = Instant::now();
            (1..TURNS).for_each(|turn| word.pass(2 * turn));
            begin.elapsed().as_nanos() as f64 / f64::from(TURNS - 1)
        });
        timed.join().expect("it counts")
    })
}

/// This thread, and those that come from it, have only this processor.
///
/// # Errors
/// Those of the kernel, as where there is no such one.
pub fn stay_on(processor: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only)
}

/// Alone in its cache line, and in the one that is fetched with it.
#[repr(align(128))]
struct Word(AtomicU32);

impl Word {
    /// Waits for a turn, and gives the next one to the other.
    fn pass(&self, turn: u32) {
        self.wait_for(turn);
        self.0.store(turn + 1, Release);
    }

    fn wait_for(&self, turn: u32) {
        while self.0.load(Acquire) != turn {
            spin_loop();
        }
    }
}
