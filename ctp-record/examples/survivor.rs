//! A target that leaves a child behind: `survivor PIDFILE PAUSE_US`.
//!
//! Starts itself again, waits until that child is attached and busy, writes the child's process id
//! to PIDFILE, and exits with 0. The child runs and suspends a coroutine, with a pause after each
//! event (none if PAUSE_US is 0), until it is killed.

use std::process::{Command, Stdio};
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};

/// At the shortest pause; limits the life of the program.
const A_FEW_MINUTES: u64 = 400_000_000;

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pause = Duration::from_micros(arguments[1].parse().expect("a number"));
    match arguments.get(2) {
        None => leave_behind(&arguments),
        Some(ready) => go_on(ready, pause),
    }
}

#[expect(
    clippy::zombie_processes,
    reason = "the child is left behind on purpose"
)]
fn leave_behind(arguments: &[String]) {
    let task = Task::born("parent");
    task.run();
    let ready = format!("{}.ready", arguments[0]);
    let me = std::env::current_exe().expect("has a path");
    let child = Command::new(me)
        .args(arguments)
        .arg(&ready)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("can be started once more");
    while !std::fs::exists(&ready).expect("can be looked for") {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(&arguments[0], child.id().to_string()).expect("can be written");
}

fn go_on(ready: &str, pause: Duration) {
    let task = Task::born("child");
    for round in 0..A_FEW_MINUTES {
        task.run();
        rest(pause);
        task.suspend(Wait::user(round));
        rest(pause);
        if round == 100 {
            std::fs::write(ready, "").expect("can be written");
        }
    }
}

fn rest(pause: Duration) {
    if !pause.is_zero() {
        std::thread::sleep(pause);
    }
}
