//! A target with a steady pace: `paced TRUTH COROUTINES ROUNDS PAUSE_US [ENDING]`.
//!
//! Each coroutine runs and suspends ROUNDS times, with a pause after each event. PAUSE_US may be a
//! range, `LOW-HIGH`, from which each pause is drawn. The last coroutine stays suspended, the first
//! stays running, the others die. TRUTH receives a line for each: its name and its number of
//! events. ENDING is how the program ends: `exit N`, `abort`, `kill`.

use std::fmt::Write as _;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse::<u64>().expect("a number");
    let (coroutines, rounds) = (number(1), number(2));
    let mut pauses = Pauses::parse(&arguments[3]);
    let tasks: Vec<Task> = (0..coroutines)
        .map(|c| Task::born(&format!("paced-{c}")))
        .collect();
    for _ in 0..rounds {
        for (index, task) in tasks.iter().enumerate() {
            task.run();
            pauses.rest();
            task.suspend(Wait::user(index as u64));
            pauses.rest();
        }
    }
    if let Some(first) = tasks.first() {
        first.run();
    }
    let mut truth = String::new();
    for index in 0..coroutines {
        let is_first = u64::from(index == 0);
        let dies = u64::from(index != 0 && index + 1 != coroutines);
        let events = 1 + 2 * rounds + is_first + dies;
        writeln!(truth, "paced-{index} {events}").expect("a string takes everything");
    }
    std::fs::write(&arguments[0], truth).expect("truth can be written");
    let (kept, dying): (Vec<_>, Vec<_>) = tasks
        .into_iter()
        .enumerate()
        .partition(|(index, _)| *index == 0 || *index as u64 + 1 == coroutines);
    drop(dying);
    std::mem::forget(kept);
    end(
        arguments.get(4).map_or("", String::as_str),
        arguments.get(5),
    );
}

/// Pauses in microseconds: from `low` on, and less than `low + spread`.
struct Pauses {
    low: u64,
    spread: u64,
    random: u64,
}

impl Pauses {
    fn parse(text: &str) -> Self {
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        Pauses {
            low: number(low),
            spread: number(high) - number(low) + 1,
            random: u64::from(std::process::id()),
        }
    }

    fn rest(&mut self) {
        // A linear congruential generator; the constants are Knuth's.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = self.random.wrapping_add(1_442_695_040_888_963_407);
        let pause = self.low + (self.random >> 33) % self.spread;
        if pause > 0 {
            std::thread::sleep(Duration::from_micros(pause));
        }
    }
}

fn end(how: &str, argument: Option<&String>) {
    match how {
        "exit" => std::process::exit(argument.map_or(0, |code| code.parse().expect("a number"))),
        "abort" => std::process::abort(),
        "kill" => {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL)
                .expect("can kill itself");
        }
        _ => {}
    }
}
