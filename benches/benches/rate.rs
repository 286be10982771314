//! What the recorder costs at ordinary rates: its processor time an event, and its share of a core, for a
//! single thread with 64 coroutines that emits events at a steady rate.
//!
//! The rates and modes alternate, so that a slow period of the machine affects all of them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ctp_benches::usage::processor_time_of;
use ctp_benches::{recorder, this_program};
use ctp_nostd::{Task, Wait};

const COROUTINES: usize = 64;
/// Events a second.
const RATES: [u64; 5] = [900_000, 194_000, 49_000, 20_000, 1_000];
const MODES: [&[&str]; 5] = [
    &[],
    &["--flight-recorder=5s"],
    &["--flight-recorder=5s", "--snapshot-on", "stuck:2s"],
    &["--summary"],
    &["--stuck-after", "2s"],
];
const SETTLE: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(4);
const ROUNDS: usize = 3;
/// How often the program works.
const TICK: Duration = Duration::from_millis(1);

// CT-10
fn main() {
    let rate = std::env::args().find_map(|argument| argument.strip_prefix("--as=")?.parse().ok());
    if let Some(rate) = rate {
        return target(rate);
    }
    let Some(recorder) = recorder() else {
        return;
    };
    let mut shares = [[[0.0; ROUNDS]; MODES.len()]; RATES.len()];
    for round in 0..ROUNDS {
        for (rate, of_rate) in RATES.iter().zip(&mut shares) {
            for (mode, share) in MODES.iter().zip(of_rate) {
                share[round] = measure(&recorder, *rate, mode);
            }
        }
    }
    for (rate, of_rate) in RATES.iter().zip(shares) {
        for (mode, share) in MODES.iter().zip(of_rate) {
            report(*rate, mode, share);
        }
    }
}

fn report(rate: u64, mode: &[&str], mut share: [f64; ROUNDS]) {
    share.sort_by(f64::total_cmp);
    let median = share[ROUNDS / 2];
    let each_ns = median * 1e9 / rate as f64;
    println!(
        "{rate:>8} events a second {:<42} {each_ns:>8.0} ns an event, {:>5.2} % of a core ({:.2} to {:.2})",
        mode.join(" "),
        median * 100.0,
        share[0] * 100.0,
        share[ROUNDS - 1] * 100.0
    );
}

/// The recorder's share of a core while the program runs.
fn measure(recorder: &Path, rate: u64, mode: &[&str]) -> f64 {
    let trace = std::env::temp_dir().join(format!("ctp-rate-{}", std::process::id()));
    let mut child = Command::new(recorder)
        .args(["-q", "-o"])
        .arg(&trace)
        .args(mode)
        .arg("--")
        .arg(this_program())
        .arg(format!("--as={rate}"))
        .stdout(Stdio::null())
        .spawn()
        .expect("can run the recorder");
    std::thread::sleep(SETTLE);
    let (began, before) = (Instant::now(), processor_time_of(child.id()));
    std::thread::sleep(WINDOW);
    let share =
        (processor_time_of(child.id()) - before).as_secs_f64() / began.elapsed().as_secs_f64();
    child.wait().expect("ends by itself");
    // A flight recorder has written nothing.
    let _ = std::fs::remove_file(trace);
    share
}

/// Emits events at a steady rate.
fn target(rate: u64) {
    ctp_nostd::attach();
    let tasks: Vec<Task> = (0..COROUTINES).map(|_| Task::born("paced")).collect();
    let (began, mut emitted) = (Instant::now(), 0);
    let mut next = tasks.iter().cycle();
    let until = SETTLE + WINDOW + Duration::from_millis(500);
    while began.elapsed() < until {
        let due = (began.elapsed().as_secs_f64() * rate as f64) as u64;
        while emitted < due {
            let task = next.next().expect("a cycle has no end");
            task.run();
            task.suspend(Wait::user(1));
            emitted += 2;
        }
        std::thread::sleep(TICK);
    }
}
