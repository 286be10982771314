//! Properties of the machine that figures depend on. The same program is faster or slower depending on
//! whether two processors share a core or are far from each other.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::Instant;

use rustix::io;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const TURNS: u32 = 5_000;
const ROUNDS: usize = 21;

/// The time for a cache line to move from the first processor to the second and back. Repeated, since
/// the processors of a virtual machine may move during a benchmark.
#[derive(Debug, Default)]
pub struct Distance {
    all_ns: Vec<f64>,
}

impl Distance {
    /// Adds a measurement, if there are two processors.
    pub fn measure(&mut self) {
        if let [first, second, ..] = processors()[..] {
            self.all_ns.push(there_and_back_ns(first, second));
            self.all_ns.sort_by(f64::total_cmp);
        }
    }

    /// Prints the range of all measurements.
    pub fn report(&self) {
        if let [least, .., most] = self.all_ns[..] {
            println!(
                "a cache line takes {least:.0} to {most:.0} ns from a processor to another and back"
            );
        }
    }
}

/// The processors that this thread may use.
fn processors() -> Vec<usize> {
    let may = sched_getaffinity(None);
    (0..CpuSet::MAX_CPU)
        .filter(|processor| may.is_ok_and(|may| may.is_set(*processor)))
        .collect()
}

/// The median of some rounds, in which two threads alternately write a word.
fn there_and_back_ns(first: usize, second: usize) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round_ns(first, second)).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn round_ns(first: usize, second: usize) -> f64 {
    let word = Word(AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            // Without the pinning the count is right too; a panic would leave the other thread spinning.
            let _ = stay_on(second);
            (0..TURNS).for_each(|turn| word.pass(2 * turn + 1));
        });
        let timed = scope.spawn(|| {
            let _ = stay_on(first);
            // The other thread is running once it has answered.
            word.pass(0);
            word.wait_for(2);
            let begin = Instant::now();
            (1..TURNS).for_each(|turn| word.pass(2 * turn));
            begin.elapsed().as_nanos() as f64 / f64::from(TURNS - 1)
        });
        timed.join().expect("a time")
    })
}

/// Restricts this thread and its children to a processor.
///
/// # Errors
/// Those of the kernel, for example if the processor does not exist.
pub fn stay_on(processor: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only)
}

/// A word alone in its cache line and in the adjacent line, which processors prefetch.
#[repr(align(128))]
struct Word(AtomicU32);

impl Word {
    /// Waits for a turn, and passes the next turn to the other thread.
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
