//! What the benchmarks share. Timing is by medians of many rounds, because the machines are
//! shared and noisy.

pub mod traces;

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Nanoseconds of one call: the median of `rounds` rounds of `calls` calls each.
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

/// Prints one figure, and how it compares with another of the same run.
pub fn report(what: &str, ns: f64, beside: Option<(&str, f64)>) {
    match beside {
        Some((name, other)) => {
            println!("{what:<52} {ns:>8.2} ns   {:>6.2} x {name}", ns / other);
        }
        None => println!("{what:<52} {ns:>8.2} ns"),
    }
}

/// This program, which runs itself as its own target.
pub fn this_program() -> PathBuf {
    std::env::current_exe().expect("has a path")
}

/// The recorder that was built beside it. Says so if there is none.
pub fn recorder() -> Option<PathBuf> {
    let recorder = this_program().with_file_name("../ctp-record");
    if !recorder.exists() {
        println!("skipped, build the recorder first: cargo build --release");
        return None;
    }
    Some(recorder)
}
