//! A target that leaves a child behind: `survivor PIDFILE PAUSE_US [READY]`.
//!
//! Starts itself again as a child process, waits until the child has attached and run 100 rounds,
//! writes the child's process id to PIDFILE, and exits with 0. The child is started with READY, the
//! file that it creates after these rounds. It runs and suspends a coroutine, with a pause after
//! each event (none if PAUSE_US is 0), until it is killed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ctp_nostd::{self as ctp, Task, Wait};

/// The child ends after this time if the test does not kill it.
const MAX_LIFE: Duration = Duration::from_secs(300);

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pause = Duration::from_micros(arguments[1].parse().expect("a number"));
    match arguments.get(2) {
        None => run_parent(&arguments),
        Some(ready_file) => run_child(ready_file, pause),
    }
}

#[expect(
    clippy::zombie_processes,
    reason = "the child is left behind on purpose"
)]
fn run_parent(arguments: &[String]) {
    let task = Task::born("parent");
    task.run();
    let ready_file = format!("{}.ready", arguments[0]);
    let me = std::env::current_exe().expect("has a path");
    let child = Command::new(me)
        .args(arguments)
        .arg(&ready_file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("can be started once more");
    while !std::fs::exists(&ready_file).expect("can be looked for") {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(&arguments[0], child.id().to_string()).expect("can be written");
}

fn run_child(ready_file: &str, pause: Duration) {
    let task = Task::born("child");
    let started = Instant::now();
    for round in 0.. {
        task.run();
        pause_for(pause);
        task.suspend(Wait::user(round));
        pause_for(pause);
        if round == 100 {
            std::fs::write(ready_file, "").expect("can be written");
        }
        if MAX_LIFE < started.elapsed() {
            return;
        }
    }
}

fn pause_for(pause: Duration) {
    if !pause.is_zero() {
        std::thread::sleep(pause);
    }
}
