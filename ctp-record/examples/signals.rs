//! A target for signals: `signals LOG MANNER`.
//!
//! Runs and suspends a coroutine until the input ends it. MANNER is its reaction to signals.
//! `default`: none. `ignore`: ignores SIGINT. `count`: writes each SIGINT, SIGTERM and SIGUSR1 to
//! LOG and continues. `leave`: writes SIGTERM to LOG and exits with 42. In each case it copies
//! lines from stdin to LOG, and exits with 0 after the line `stop`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

/// Limits the life of the program.
const A_FEW_MINUTES: u64 = 200_000;

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let log = arguments[0].clone();
    match arguments[1].as_str() {
        "default" => {}
        "ignore" => {
            let taken = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(SIGINT, taken).expect("can be caught");
        }
        "count" => listen(&log, &[SIGINT, SIGTERM, SIGUSR1], None),
        "leave" => listen(&log, &[SIGTERM], Some(42)),
        other => panic!("no manner: {other}"),
    }
    let reader = log.clone();
    thread::spawn(move || read_lines(&reader));
    let task = Task::born("signals");
    note(&log, "ready");
    for round in 0..A_FEW_MINUTES {
        task.run();
        task.suspend(Wait::user(round));
        thread::sleep(Duration::from_millis(1));
    }
}

fn listen(log: &str, requested: &[i32], leave_with: Option<i32>) {
    let mut signals = Signals::new(requested).expect("can be caught");
    let log = log.to_owned();
    thread::spawn(move || {
        for signal in signals.forever() {
            note(
                &log,
                signal_hook::low_level::signal_name(signal).unwrap_or("?"),
            );
            if let Some(code) = leave_with {
                std::process::exit(code);
            }
        }
    });
}

fn read_lines(log: &str) {
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return };
        note(log, &line);
        if line == "stop" {
            std::process::exit(0);
        }
    }
}

fn note(log: &str, line: &str) {
    let file = OpenOptions::new().append(true).create(true).open(log);
    writeln!(file.expect("can be opened"), "{line}").expect("can be written");
}
