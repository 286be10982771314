//! Tasks that wait: all of them are found, with their states and wakers.

use std::collections::BTreeMap;

use ctp_inspect::TraceIds;
use ctp_trace::record::{TaskKind, TaskState, WakerHolder};

use crate::program::{Program, inspect, inspector};

/// Threads of the runtime, each of which is a closure of the blocking pool.
const WORKERS: usize = 4;

#[test]
fn every_task_is_found_and_no_other() {
    let mut program = Program::start("all", 10);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let inspected = inspect(&mut inspector, &mut TraceIds::default());
    let found: Vec<u64> = inspected.spawned().map(|task| task.address).collect();
    let expected: Vec<u64> = program.tasks().into_keys().collect();
    assert_eq!(found, expected);
    let blocking = inspected
        .tasks
        .iter()
        .filter(|task| task.kind == TaskKind::Blocking);
    assert_eq!(blocking.count(), WORKERS + 1);
    // Programs built with old versions of tokio have symbols only.
    let mut gaps = inspected.end.gaps.iter();
    assert!(
        gaps.all(|gap| gap.contains("has no debug info")),
        "{:?}",
        inspected.end.gaps
    );
    assert_eq!(inspected.end.runtimes.len(), 1);
    assert!(
        inspected.end.runtimes[0].starts_with("tokio 1."),
        "{:?}",
        inspected.end.runtimes
    );
}

#[test]
fn wakers_and_states_are_as_the_tasks_say() {
    let mut program = Program::start("all", 10);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let inspected = inspect(&mut inspector, &mut TraceIds::default());
    let entries = program.tasks();
    for task in inspected.spawned() {
        let kind = &*entries[&task.address].kind;
        let expected = match kind {
            "blocked" => (TaskState::Running, 0),
            "no-waker" => (TaskState::Idle, 0),
            _ => (TaskState::Idle, 1),
        };
        assert_eq!(
            (task.state, task.wakers.expect("a number")),
            expected,
            "{kind}"
        );
        assert!(task.polled_by == 0 || kind == "blocked", "{kind}");
        assert_eq!(task.waker_holders.len(), expected.1 as usize, "{kind}");
    }
}

#[test]
fn holders_of_wakers_are_named() {
    let mut program = Program::start("waits", 5);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let inspected = inspect(&mut inspector, &mut TraceIds::default());
    // Before 1.31, tokio registered numbers with epoll and not addresses.
    let has_addresses = !inspected.end.runtimes[0].starts_with("tokio 1.2");
    let mut gaps = inspected.end.gaps.iter();
    let has_types = !gaps.any(|gap| gap.contains("has no debug info"));
    let entries = program.tasks();
    for task in inspected.spawned() {
        let (kind, holder) = (&*entries[&task.address].kind, task.waker_holders[0]);
        match kind {
            "accept" | "read" if has_addresses => {
                assert!(
                    matches!(holder, WakerHolder::Io(Some(_))),
                    "{kind}: {holder:?}"
                );
            }
            "join" => assert!(matches!(holder, WakerHolder::Task(_)), "{kind}: {holder:?}"),
            "sleep" | "joined" if has_types => {
                assert_eq!(holder, WakerHolder::Timer, "{kind}");
            }
            "mpsc" | "oneshot" | "notified" | "mutex" | "semaphore" if has_types => {
                assert!(matches!(holder, WakerHolder::Sync(_)), "{kind}: {holder:?}");
            }
            _ => assert!(!matches!(
                holder,
                WakerHolder::Thread(_) | WakerHolder::Task(_)
            )),
        }
    }
}

#[test]
fn an_unchanged_program_has_no_new_records() {
    let mut program = Program::start("waits", 3);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let mut ids = TraceIds::default();
    let first = inspect(&mut inspector, &mut ids);
    let second = inspect(&mut inspector, &mut ids);
    assert_eq!(second.spawned().next(), None);
    assert_eq!((first.end.number, second.end.number), (1, 2));
    assert_eq!(second.end.ended, []);
    assert_eq!(first.spawned().count(), program.tasks().len());
}

#[test]
fn ids_are_those_of_tokio() {
    let program = Program::start("waits", 2);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let inspected = inspect(&mut inspector, &mut TraceIds::default());
    let mut tasks = BTreeMap::new();
    for task in inspected.tasks.iter().filter(|task| task.runtime_id != 0) {
        assert_eq!(tasks.insert(task.runtime_id, task.address), None);
    }
    // Tokio before 1.23 has them where no table says.
    let has_ids = !["1.21", "1.22"]
        .iter()
        .any(|old| inspected.end.runtimes[0].contains(old));
    assert_eq!(tasks.len(), if has_ids { inspected.tasks.len() } else { 0 });
}
