//! Threads that never wait have stacks if they are stopped for a moment. They lose nothing by that.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::process::{Command, Stdio};

use ctp_inspect::{Inspector, ProcessTarget, TraceIds};
use ctp_trace::record::{InspectedThread, ProcessId, Record};
use support::{Running, Truth};

const THREADS: usize = 2;
const SIGNALS: usize = 500;
/// The number of the real-time signal that the program counts. Each such signal is queued.
const SIGNAL: &str = "40";

/// The program, and what it printed.
fn start() -> Option<(tempfile::TempDir, Running, Vec<Truth>)> {
    let directory = tempfile::tempdir().unwrap();
    let args = ["--edition=2024", "-Copt-level=3"];
    let program = support::compile(directory.path(), "rustc", "spinning.rs", &args)?;
    let mut running = Running::start(Command::new(program).stdin(Stdio::piped()));
    let truths = (0..THREADS)
        .map(|_| Truth::parse(&running.line()))
        .collect();
    Some((directory, running, truths))
}

fn threads(records: Vec<Record>) -> Vec<InspectedThread> {
    records
        .into_iter()
        .filter_map(|record| match record {
            Record::InspectedThread(thread) => Some(thread),
            _ => None,
        })
        .collect()
}

fn inspect(inspector: &mut Inspector, ids: &mut TraceIds) -> Vec<Record> {
    inspector.inspect(ids).unwrap()
}

fn inspector(target: ProcessTarget) -> Inspector {
    Inspector::new(Box::new(target), ProcessId(1))
}

#[test]
fn running_threads_have_the_stacks_that_they_printed() {
    let Some((_directory, running, truths)) = start() else {
        return;
    };
    let target = ProcessTarget::open(running.pid()).unwrap().interrupting();
    let mut inspector = inspector(target);
    let mut ids = TraceIds::default();
    let mut missing: Vec<&Truth> = truths.iter().collect();
    // A thread that does not get a processor in time does not stop.
    for _ in 0..1000 {
        let found = threads(inspect(&mut inspector, &mut ids));
        missing.retain(|truth| {
            let thread = found.iter().find(|thread| thread.tid == truth.tid);
            let Some(thread) = thread.filter(|thread| !thread.addresses.is_empty()) else {
                return true;
            };
            assert!(thread.addresses.ends_with(&truth.addresses), "{thread:x?}");
            assert!(thread.is_whole && thread.syscall.is_none(), "{thread:x?}");
            false
        });
        if missing.is_empty() {
            return;
        }
    }
    panic!("never stopped: {:?}", missing[0].tid);
}

#[test]
fn threads_are_not_stopped_unless_requested() {
    let Some((_directory, running, truths)) = start() else {
        return;
    };
    let mut inspector = inspector(ProcessTarget::open(running.pid()).unwrap());
    let mut ids = TraceIds::default();
    let found = threads(inspect(&mut inspector, &mut ids));
    for truth in truths {
        let thread = found.iter().find(|thread| thread.tid == truth.tid).unwrap();
        assert_eq!(thread.addresses, [0; 0]);
    }
}

#[test]
fn no_signal_is_lost_and_no_thread_stays_stopped() {
    let Some((_directory, mut running, truths)) = start() else {
        return;
    };
    let target = ProcessTarget::open(running.pid()).unwrap().interrupting();
    let mut inspector = inspector(target);
    let mut ids = TraceIds::default();
    let pid = running.pid().to_string();
    let line = format!("for i in $(seq {SIGNALS}); do kill -{SIGNAL} {pid}; done");
    let mut sender = Command::new("sh").args(["-c", &line]).spawn().unwrap();
    while sender.try_wait().unwrap().is_none() {
        inspect(&mut inspector, &mut ids);
    }
    for truth in truths {
        let path = format!("/proc/{pid}/task/{}/status", truth.tid);
        let status = std::fs::read_to_string(path).unwrap();
        assert!(status.contains("TracerPid:\t0\n"), "{status}");
        assert!(status.contains("State:\tR"), "{status}");
    }
    drop(running.input());
    let line = running.line();
    let mut words = line.split(' ').skip(1);
    assert_eq!(words.next(), Some(SIGNALS.to_string().as_str()), "{line}");
    assert!(words.next().unwrap().parse::<u64>().unwrap() != 0, "{line}");
}
