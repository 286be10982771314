//! All tasks are found, with their states and wakers.

use std::path::Path;
use std::process::Command;

use ctp_trace::record::{InspectedTask, TaskState, ThreadRole};

use crate::program::{Inspected, Program, build};

/// How many tasks of most kinds there are.
const COUNT: usize = 10;

/// State and wakers of the tasks of a kind.
fn expected(kind: &str) -> (TaskState, u32) {
    match kind {
        "blocked" => (TaskState::Running, 0),
        "bare-queued" => (TaskState::Notified, 0),
        "bare-cancelled" => (TaskState::Cancelled, 1),
        // A timer keeps the waker that it has registered, and a copy of it.
        "sleeping" => (TaskState::Idle, 2),
        "either" => (TaskState::Idle, 3),
        _ if kind.ends_with("forgetting") || ["forever", "never_due"].contains(&kind) => {
            (TaskState::Idle, 0)
        }
        _ => (TaskState::Idle, 1),
    }
}

/// Inspects the program, and compares all tasks with what the program says.
fn check(path: &Path) {
    let program = Program::run(path, COUNT);
    let Some(mut inspector) = program.inspector() else {
        return;
    };
    let inspected = Inspected::first(&mut inspector);
    let found = inspected.of_async_task();
    for (address, kind) in &program.tasks {
        let task = found.get(address).unwrap_or_else(|| panic!("no {kind}"));
        let wakers = task.wakers.unwrap();
        assert_eq!((task.state, wakers), expected(kind), "{kind}: {task:?}");
        assert_eq!(task.waker_holders.len(), wakers as usize, "{kind}");
        assert!(task.polled_by == 0 || kind == "blocked", "{kind}");
    }
    let others = found
        .keys()
        .filter(|task| !program.tasks.contains_key(task));
    // Smol spawns a task of its own, which waits for the ends of child processes. A closure of the pool of blocking
    // threads is a task, too.
    assert_eq!(others.count(), 2, "{found:#?}");
    assert_eq!(program.count("receiving"), COUNT);
    assert_eq!(program.count("static-forgetting"), COUNT);
    let runtimes = &inspected.end.runtimes[..];
    assert!(
        matches!(runtimes, [only] if only.starts_with("async-task 4.")),
        "{runtimes:?}"
    );
}

#[test]
fn debug_program_has_all_tasks_and_no_other() {
    check(&build(&[], "debug"));
}

#[test]
fn release_program_has_all_tasks_and_no_other() {
    check(&build(&["--release"], "release"));
}

#[test]
fn stripped_program_has_all_tasks_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let stripped = directory.path().join("stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&stripped).arg(build(&[], "debug"));
    if strip.status().is_ok_and(|status| status.success()) {
        check(&stripped);
    } else {
        eprintln!("SKIPPED: no strip");
    }
}

#[test]
fn running_task_of_debug_program_has_thread() {
    check_running(&build(&[], "debug"));
}

#[test]
fn running_task_of_release_program_has_thread() {
    check_running(&build(&["--release"], "release"));
}

fn check_running(path: &Path) {
    let program = Program::run(path, 1);
    let Some(mut inspector) = program.inspector() else {
        return;
    };
    let inspected = Inspected::first(&mut inspector);
    let is_running = |task: &&InspectedTask| task.state == TaskState::Running;
    let of_program = inspected.tasks.values();
    let of_program = of_program.filter(|task| program.tasks.contains_key(&task.address));
    let running = of_program.filter(is_running);
    let running: Vec<_> = running.collect();
    assert_eq!(running.len(), 1, "{running:#?}");
    assert_ne!(running[0].polled_by, 0, "{running:#?}");
    assert_eq!(program.tasks[&running[0].address], "blocked");
    assert_eq!(running[0].name, "on_smol::waits::blocked");
    let thread = inspected.threads.values();
    let thread = thread.filter(|thread| thread.polls == Some(running[0].id));
    let roles: Vec<_> = thread.map(|thread| (thread.tid, thread.role)).collect();
    assert_eq!(roles, [(running[0].polled_by, ThreadRole::Polling)]);
}
