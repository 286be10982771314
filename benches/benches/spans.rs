//! The cost of a span of `tracing` that is entered and exited, as at each poll of an instrumented future: without a
//! subscriber, with the registry of `tracing-subscriber` alone, and with the layer of `ctp-tracing` on it, which
//! writes two events if the program is recorded.
//!
//! A program has one subscriber, so this program runs itself for each case. Instructions are counted with
//! valgrind's callgrind, if it is installed.
//! `cargo bench -p ctp-benches --features spans --bench spans`

use std::process::Command;

use ctp_benches::memory::{Borrowed, Memory};
use ctp_benches::{anything_happens, callgrind, this_program, times};
use ctp_nostd::aggregate::MODE_HISTORY;
use tracing::{Span, info_span};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const RECORDED: &str = "registry and layer, recorded";
const CASES: [&str; 4] = [
    "no subscriber",
    "registry",
    "registry and layer, not recorded",
    RECORDED,
];
/// Instructions are the difference between this number of rounds and twice as many. Both fit into a lane.
const ROUNDS: u32 = 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "--measure", case] => measure(case),
        [_, "--count", case, rounds] => count(case, rounds.parse().expect("a number")),
        _ => all(),
    }
}

fn all() {
    for case in CASES {
        let mut command = Command::new(this_program());
        run(command.args(["--measure", case]));
    }
    if callgrind::is_installed() {
        println!("instructions of a span that is entered and exited:");
        for case in CASES {
            println!("  {case:<42} {:>5}", instructions(case));
        }
    }
}

/// Runs a case, with memory to record into, which only one of the cases uses.
fn run(command: &mut Command) {
    let memory = Memory::new(4, MODE_HISTORY);
    let status = memory.lend(command).status();
    assert!(status.expect("this program can be run").success());
}

/// Installs the subscriber of a case. Returns the memory in which spans are recorded, if they are.
fn install(case: &str) -> Option<Borrowed> {
    let borrowed = (case == RECORDED).then(Borrowed::attach);
    let registry = tracing_subscriber::registry();
    match case {
        "no subscriber" => {}
        "registry" => registry.init(),
        _ => registry.with(ctp_tracing::layer()).init(),
    }
    borrowed
}

fn measure(case: &str) {
    let borrowed = install(case);
    let before = || {
        if let Some(borrowed) = &borrowed {
            borrowed.empty_lanes();
        }
    };
    println!("{case}:");
    let span = info_span!("request");
    times(1, before, || enter_and_exit(&span)).report("entered and exited", None);
    // The memory has room for some thousand spans only.
    if borrowed.is_none() {
        let created = times(1, || (), || enter_and_exit(&info_span!("request")));
        created.report("created, entered, exited and closed", None);
    }
}

fn enter_and_exit(span: &Span) {
    let _entered = span.enter();
    anything_happens();
}

fn count(case: &str, rounds: u32) {
    let _borrowed = install(case);
    let span = info_span!("request");
    for _ in 0..rounds {
        enter_and_exit(&span);
    }
}

/// Instructions of a span that is entered and exited.
fn instructions(case: &str) -> u64 {
    let memory = Memory::new(4, MODE_HISTORY);
    let [once, twice] = [ROUNDS, 2 * ROUNDS].map(|rounds| {
        let mut command = callgrind::command(&this_program());
        command.args(["--count", case, &rounds.to_string()]);
        callgrind::instructions(memory.lend(&mut command))
    });
    (twice - once) / u64::from(ROUNDS)
}
