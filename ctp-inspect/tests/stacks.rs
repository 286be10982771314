//! A program prints the return addresses of its threads before they block. The stacks that are read
//! from outside agree.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::collections::HashMap;
use std::process::Command;

use ctp_inspect::ProcessTarget;
use ctp_inspect::stacks::{Stack, Unwinder};
use ctp_inspect::threads::ThreadState;
use support::{Running, Truth, blocked};

const THREADS: usize = 9;
const MUSL: &str = "--target=x86_64-unknown-linux-musl";

fn addresses(stack: &Stack) -> Vec<u64> {
    stack.frames.iter().map(|frame| frame.address).collect()
}

/// Compares the stacks of the program that is built with these arguments.
fn compare(args: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let all = [&["--edition=2024"], args].concat();
    let Some(program) = support::compile(directory.path(), "rustc", "blocked.rs", &all) else {
        return;
    };
    let is_musl = args.contains(&MUSL);
    let mut running = Running::start(&mut Command::new(program));
    let truths: Vec<_> = (0..THREADS)
        .map(|_| Truth::parse(&running.line()))
        .collect();
    let target = ProcessTarget::open(running.pid()).unwrap();
    let mut unwinder = Unwinder::default();
    for Truth {
        tid,
        way,
        addresses: expected,
    } in truths
    {
        let sample = blocked(running.pid(), tid);
        let ThreadState::Blocked { registers, .. } = sample.state else {
            panic!("{way} {:?}", sample.state);
        };
        let stack = unwinder.unwind(&target, &registers);
        let mut found = addresses(&stack);
        if is_musl && way == "signal" {
            continue; // No table of musl has the code to which signal handlers return.
        }
        if is_musl {
            // The program's own unwinder ends before the functions of musl with which a thread begins.
            let last = found
                .iter()
                .rposition(|address| expected.last() == Some(address));
            found.truncate(last.map_or(0, |last| last + 1));
        }
        assert!(
            found.ends_with(&expected) && !expected.is_empty(),
            "{args:?} {way}\n{found:x?}\n{expected:x?}"
        );
        // A `main` in C without unwind table is beyond.
        let is_main = tid == running.pid() && args.contains(&"-Cpanic=abort");
        assert!(
            stack.is_whole || is_main || is_musl,
            "{args:?} {way} {stack:x?}"
        );
        let ends = stack.frames.iter().map(|frame| frame.end);
        assert!(ends.is_sorted(), "{args:?} {way} {stack:x?}");
    }
}

/// The return addresses of all threads, as gdb finds them.
fn stacks_of_gdb(pid: u32) -> Option<HashMap<u32, Vec<u64>>> {
    let mut command = Command::new("gdb");
    command.args(["-nx", "-batch", "-ex", "set backtrace past-main on"]);
    command.args(["-ex", "thread apply all backtrace", "-p", &pid.to_string()]);
    let output = match command.output() {
        Ok(output) if output.status.success() => output,
        other => {
            eprintln!("SKIPPED: gdb: {other:?}");
            return None;
        }
    };
    let mut stacks = HashMap::<u32, Vec<u64>>::new();
    let mut tid = 0;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in text.lines() {
        if let Some((_, rest)) = line
            .split_once("(LWP ")
            .filter(|_| line.starts_with("Thread "))
        {
            tid = rest.split(')').next().unwrap().parse().unwrap();
        } else if line.starts_with('#') && !line.starts_with("#0 ") {
            let mut words = line.split_ascii_whitespace();
            let address = words.nth(1).and_then(|word| word.strip_prefix("0x"));
            let address = address.and_then(|word| u64::from_str_radix(word, 16).ok());
            stacks.entry(tid).or_default().extend(address);
        }
    }
    if stacks.is_empty() {
        eprintln!(
            "SKIPPED: gdb may not attach: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Some(stacks)
}

#[test]
fn stacks_agree_with_gdb() {
    let directory = tempfile::tempdir().unwrap();
    let args = ["--edition=2024", "-Copt-level=3"];
    let Some(program) = support::compile(directory.path(), "rustc", "blocked.rs", &args) else {
        return;
    };
    let mut running = Running::start(&mut Command::new(program));
    let truths: Vec<_> = (0..THREADS)
        .map(|_| Truth::parse(&running.line()))
        .collect();
    let target = ProcessTarget::open(running.pid()).unwrap();
    let mut unwinder = Unwinder::default();
    let stacks = truths.iter().map(|truth| {
        let sample = blocked(running.pid(), truth.tid);
        let ThreadState::Blocked { registers, .. } = sample.state else {
            panic!("{:?}", sample.state);
        };
        (truth, addresses(&unwinder.unwind(&target, &registers)))
    });
    let stacks: Vec<_> = stacks.collect();
    // gdb attaches, which interrupts system calls.
    let Some(expected) = stacks_of_gdb(running.pid()) else {
        return;
    };
    for (Truth { tid, way, .. }, found) in stacks {
        let Some(expected) = expected.get(tid) else {
            continue;
        };
        if way == "signal" {
            // gdb prints no address for the frame of the kernel and for the interrupted function, but
            // for functions that were inlined into that.
            let ends = found.iter().rev().zip(expected.iter().rev());
            let equal = ends.take_while(|(found, expected)| found == expected);
            assert!(5 < equal.count(), "{found:x?}\n{expected:x?}");
        } else {
            assert_eq!(&found[1..], expected, "{way}");
        }
    }
}

#[test]
fn debug_build_agrees_with_program() {
    compare(&["-Copt-level=0", "-g"]);
}

#[test]
fn optimised_build_agrees_with_program() {
    compare(&["-Copt-level=3", "-Cforce-frame-pointers=no"]);
}

#[test]
fn build_with_frame_pointers_agrees_with_program() {
    compare(&["-Copt-level=3", "-Cforce-frame-pointers=yes"]);
}

// musl has no unwind table in memory.
#[cfg(target_arch = "x86_64")]
#[test]
fn static_musl_build_agrees_with_program() {
    compare(&[MUSL, "-Copt-level=3"]);
    compare(&[MUSL, "-Copt-level=0", "-g"]);
}

#[test]
fn stripped_small_build_agrees_with_program() {
    compare(&["-Copt-level=s", "-Cstrip=symbols", "-Cpanic=abort"]);
}
