//! The number of instructions of an event, which is the same on a busy machine.
//!
//! Counts with valgrind's callgrind and compares with `benches/instructions.txt`. A step that takes a
//! tenth more than expected fails. `CTP_BLESS=1` updates the file. Without valgrind the benchmark is
//! skipped, with a message.
//! `cargo bench -p ctp-benches --features wakers --bench instructions`

#[path = "instructions/in_c.rs"]
mod in_c;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::future::{Future as _, poll_fn};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ctp_benches::memory::{Borrowed, Memory};
use ctp_benches::{NoopWaker, anything_happens, callgrind, this_program};
use ctp_nostd::aggregate::{MODE_FLIGHT, MODE_HISTORY};
use ctp_nostd::control::Control;
use ctp_nostd::{Task, TracedExt as _, Wait};

/// Each step: the name, the number of lanes, the mode, and how often a round repeats the step.
const STEPS: [(&str, u32, u32, u64); 13] = [
    ("not attached", 0, MODE_HISTORY, 2),
    ("slot", 0, MODE_HISTORY, 2),
    ("slot and lane", 4, MODE_HISTORY, 2),
    ("slot, lane and aggregate", 4, MODE_FLIGHT, 2),
    ("slot, lane and call stack", 4, MODE_HISTORY, 2),
    ("switch_to, both events", 4, MODE_HISTORY, 2),
    ("wake", 4, MODE_HISTORY, 1),
    ("kept out", 4, MODE_HISTORY, 2),
    ("stopped", 4, MODE_HISTORY, 2),
    ("yield of a traced future", 4, MODE_HISTORY, 1),
    ("clone and wake of a traced waker", 4, MODE_HISTORY, 1),
    ("not attached, in C", 0, MODE_HISTORY, 2),
    ("slot and lane, in C", 4, MODE_HISTORY, 2),
];
/// Counts the difference between this number of rounds and twice as many. Both fit into a lane.
const ROUNDS: u32 = 1_000;

/// A difference up to this number of instructions is ignored.
const FEW: u64 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, step, rounds] = arguments.as_slice()
        && flag == "--do"
    {
        perform(step, rounds.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    if !callgrind::is_installed() {
        return ExitCode::SUCCESS;
    }
    let in_c = in_c::build_program();
    let counted = STEPS.iter().filter_map(|step| {
        let is_in_c = step.0.ends_with("in C");
        let program = if is_in_c {
            in_c.clone()?
        } else {
            this_program()
        };
        Some(count(step, &program))
    });
    let counted: Vec<(&str, u64)> = counted.collect();
    if std::env::var_os("CTP_BLESS").is_some() {
        fs::write(table(), to_text(&counted)).expect("the table can be written");
    }
    judge(
        &counted,
        &fs::read_to_string(table()).expect("the table is there"),
    )
}

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt")
}

fn to_text(counted: &[(&str, u64)]) -> String {
    let mut text = String::new();
    for (step, count) in counted {
        writeln!(text, "{step}: {count}").expect("a string");
    }
    text
}

/// Prints each step and the expected count. Fails if a step takes a tenth more.
fn judge(counted: &[(&str, u64)], table: &str) -> ExitCode {
    let lines = table.lines().filter_map(|line| line.split_once(": "));
    let expected: BTreeMap<&str, u64> = lines
        .filter_map(|(step, count)| Some((step, count.parse().ok()?)))
        .collect();
    let mut has_grown = false;
    for (step, count) in counted {
        let limit = expected.get(step).copied().unwrap_or(0);
        let verdict = match () {
            () if *count > limit + limit / 10 + FEW => "  MORE THAN A TENTH MORE",
            () if count + limit / 10 + FEW < limit => "  less: update with CTP_BLESS=1",
            () => "",
        };
        has_grown |= verdict.contains("MORE");
        println!("{step:<28} {count:>5} instructions, expected {limit:>5}{verdict}");
    }
    if has_grown {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Instructions of a single step, which this program performs.
// LT-02, LT-31
fn count(
    (step, lanes, mode, each): &(&'static str, u32, u32, u64),
    program: &Path,
) -> (&'static str, u64) {
    let memory = Memory::new(*lanes, *mode);
    let [once, twice] = [ROUNDS, 2 * ROUNDS].map(|rounds| {
        let mut command = callgrind::command(program);
        command.args(["--do", step, &rounds.to_string()]);
        callgrind::instructions(memory.lend(&mut command))
    });
    (step, (twice - once) / u64::from(ROUNDS) / each)
}

fn perform(step: &str, rounds: u32) {
    if step == "not attached" {
        return events(&Task::mute(), rounds);
    }
    let borrowed = Borrowed::attach();
    let [task, other] = ["one", "other"].map(Task::born);
    task.run(); // the thread claims a lane
    borrowed.empty_lanes();
    match step {
        "switch_to, both events" => switches(&task, &other, rounds),
        "slot, lane and call stack" => stackful_events(&task, rounds),
        "wake" => wakes(&task, rounds),
        "yield of a traced future" => alone(&task, || yields(rounds)),
        "clone and wake of a traced waker" => alone(&task, || pairs(rounds)),
        _ => {
            borrowed.command(control(step));
            events(&task, rounds);
        }
    }
}

/// Runs the step while no coroutine runs on this thread, as without an outer coroutine.
fn alone(task: &Task, step: impl FnOnce()) {
    task.suspend(Wait::to_yield());
    step();
}

fn control(step: &str) -> Control {
    let is_kept_out = step == "kept out";
    Control {
        stopped: step == "stopped",
        without_runs: is_kept_out,
        without_suspends: is_kept_out,
        only_thread: 0,
    }
}

fn events(task: &Task, rounds: u32) {
    let task = black_box(task);
    for _ in 0..rounds {
        task.run();
        anything_happens();
        task.suspend(Wait::readable(3));
        anything_happens();
    }
}

fn stackful_events(task: &Task, rounds: u32) {
    let task = black_box(task);
    for _ in 0..rounds {
        task.run();
        anything_happens();
        task.suspend_with_stack(Wait::readable(3));
        anything_happens();
    }
}

fn switches(task: &Task, other: &Task, rounds: u32) {
    let (task, other) = (black_box(task), black_box(other));
    for _ in 0..rounds {
        task.switch_to(Wait::to_yield(), other);
        anything_happens();
        other.switch_to(Wait::to_yield(), task);
        anything_happens();
    }
}

fn wakes(task: &Task, rounds: u32) {
    let waker = task.waker();
    let waker = black_box(&waker);
    for _ in 0..rounds {
        waker.wake();
        anything_happens();
    }
}

/// A poll where the leaf clones the waker, and the wake that consumes the clone.
fn yields(rounds: u32) {
    let given = RefCell::new(None);
    let leaf = poll_fn(|context: &mut Context<'_>| {
        given.replace(Some(context.waker().clone()));
        Poll::<()>::Pending
    });
    let mut future = pin!(leaf.traced());
    let waker = Waker::from(Arc::new(NoopWaker));
    for _ in 0..rounds {
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        given.take().expect("a waker from the leaf").wake();
    }
}

/// A clone outside of a poll, consumed by a wake.
#[expect(clippy::waker_clone_wake, reason = "counts this pair")]
fn pairs(rounds: u32) {
    let mut kept = None;
    let leaf = poll_fn(|context: &mut Context<'_>| {
        kept = Some(context.waker().clone());
        Poll::<()>::Pending
    });
    let waker = Waker::from(Arc::new(NoopWaker));
    let polled = pin!(leaf.traced()).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    let kept = black_box(kept.as_ref().expect("the leaf kept a waker"));
    for _ in 0..rounds {
        kept.clone().wake();
        anything_happens();
    }
}
