//! Shared by the benchmarks. Times are medians of many rounds, because machines are shared and noisy.

pub mod callgrind;
pub mod inspected;
pub mod machine;
pub mod memory;
pub mod storm;
pub mod traces;
pub mod usage;

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Wake;
use std::time::{Duration, Instant};

/// Nanoseconds of a call: the median of `rounds` rounds of `calls` calls each.
pub fn median_ns(rounds: usize, calls: u32, mut call: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..calls {
                call();
            }
            begin.elapsed()
        })
        .collect();
    times.sort();
    times[rounds / 2].as_nanos() as f64 / f64::from(calls)
}

/// Rounds are short, so that some are not interrupted even on a shared machine.
const SHORT_ROUNDS: usize = 2_001;
/// Calls in each round. The records of two events per call fit into a lane.
pub const CALLS: u32 = 2_000;

/// The time of an event, from many short rounds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// In the quickest round.
    pub least_ns: f64,
    /// In the median round.
    pub median_ns: f64,
}

/// Measures a call that emits this number of events. `before` is called before each round.
pub fn times(events: u32, mut before: impl FnMut(), mut call: impl FnMut()) -> Times {
    let each = f64::from(CALLS) * f64::from(events);
    let mut rounds: Vec<f64> = (0..SHORT_ROUNDS)
        .map(|_| {
            before();
            let begin = Instant::now();
            (0..CALLS).for_each(|_| call());
            begin.elapsed().as_nanos() as f64 / each
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    Times {
        least_ns: rounds[0],
        median_ns: rounds[SHORT_ROUNDS / 2],
    }
}

impl Times {
    /// Prints the times, and the difference between the quickest round and that of `with`.
    pub fn report(&self, what: &str, with: Option<&Times>) {
        let Times {
            least_ns,
            median_ns,
        } = self;
        print!("  {what:<42} {least_ns:>8.2} ns, median {median_ns:>8.2}");
        match with {
            Some(other) => println!("   counter {:+.2}", least_ns - other.least_ns),
            None => println!(),
        }
    }
}

/// Stands for the program's work between two events: the compiler must assume that memory changed.
/// Hiding a reference instead would store and load that reference each time, up to 0.6 ns of an event.
#[inline(always)]
pub fn anything_happens() {
    black_box(());
}

/// Prints a figure, and the ratio to another figure of the same run.
pub fn report(what: &str, ns: f64, with: Option<(&str, f64)>) {
    match with {
        Some((name, other)) => {
            println!("{what:<52} {ns:>8.2} ns   {:>6.2} x {name}", ns / other);
        }
        None => println!("{what:<52} {ns:>8.2} ns"),
    }
}

/// The path of this program, which runs itself as the target.
pub fn this_program() -> PathBuf {
    std::env::current_exe().expect("has a path")
}

/// The recorder built beside this program. Prints a message if there is none.
pub fn recorder() -> Option<PathBuf> {
    tool("ctp-record")
}

/// The reporter built beside this program. Prints a message if there is none.
pub fn reporter() -> Option<PathBuf> {
    tool("ctp-report")
}

fn tool(name: &str) -> Option<PathBuf> {
    let tool = this_program().with_file_name(format!("../{name}"));
    if !tool.exists() {
        println!("skipped, build {name} first: cargo build --release");
        return None;
    }
    Some(tool)
}

/// An executor's waker that does nothing.
#[derive(Debug)]
pub struct NoopWaker;

impl Wake for NoopWaker {
    fn wake(self: Arc<Self>) {}
    fn wake_by_ref(self: &Arc<Self>) {}
}
