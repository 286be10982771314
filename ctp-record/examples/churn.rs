//! Short-lived coroutines: `churn TRUTH CYCLES`.
//!
//! CYCLES coroutines in sequence are born, run, suspend and are dropped while suspended. Then three
//! remain: one never ran, one runs, and one waits with an idle wait. TRUTH receives a line for
//! each: its name, its id, and the monotonic clock before and after its birth.

use std::fmt::Write as _;

use ctp_nostd::{self as ctp, Linux, Platform as _, Task, Wait};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cycles: u64 = arguments[1].parse().expect("a number");
    let mut truth = String::new();
    for cycle in 0..cycles {
        let task = born(&format!("cancelled-{}", cycle % 100), &mut truth);
        task.run();
        task.suspend(Wait::user(cycle));
    }
    let never_ran = born("never-ran", &mut truth);
    let runs = born("runs", &mut truth);
    runs.run();
    let waits = born("waits", &mut truth);
    waits.run();
    waits.suspend(Wait::user(1).idle());
    std::fs::write(&arguments[0], truth).expect("truth can be written");
    for left in [never_ran, runs, waits] {
        std::mem::forget(left);
    }
}

fn born(name: &str, truth: &mut String) -> Task {
    let before = Linux::now_ns();
    let task = Task::born(name);
    let after = Linux::now_ns();
    writeln!(truth, "{name} {} {before} {after}", task.id()).expect("a string");
    task
}
