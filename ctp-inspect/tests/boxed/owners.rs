//! What holds boxed futures, and which of them are parts of tasks.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ctp_trace::record::{InspectedTask, TaskKind, TaskOwner};

use crate::program::{Inspections, Program, build, function, inspections_under_load};

const PAUSE: Duration = Duration::from_millis(7);

fn task_with<'i>(program: &Program, inspections: &'i Inspections, kind: &str) -> &'i InspectedTask {
    let mut tasks = inspections.tasks.values();
    let has_kind = |task: &&InspectedTask| {
        task.kind == TaskKind::Tokio
            && program
                .tasks
                .get(&task.address)
                .is_some_and(|of| of == kind)
    };
    tasks.find(has_kind).unwrap()
}

fn check_set(path: &Path) {
    let program = Program::run(path, "set");
    let Some(mut inspections) = program.inspections() else {
        return;
    };
    inspections.inspect();
    let parent = task_with(&program, &inspections, "parent");
    let boxes = inspections.boxes();
    let addresses: BTreeSet<u64> = boxes.keys().copied().collect();
    assert_eq!(addresses, program.boxes.keys().copied().collect());
    for task in boxes.values() {
        assert_eq!(
            inspections.chain(task)[0],
            ("child", program.numbers["child"])
        );
        assert_eq!(task.owner, TaskOwner::Task(parent.id));
    }
}

// STB-22
#[test]
fn futures_of_a_set_are_held_by_the_task() {
    check_set(&build(&[], "debug"));
}

#[test]
fn optimised_futures_of_a_set_are_held_by_the_task() {
    check_set(&build(&["--release"], "release"));
}

fn check_plain(path: &Path) {
    let program = Program::run(path, "plain");
    let Some(mut inspections) = program.inspections() else {
        return;
    };
    for _ in 0..inspections_under_load() {
        inspections.inspect();
        let boxes = inspections.boxes();
        assert_eq!(boxes.len(), 0, "{boxes:#?}");
        let task = task_with(&program, &inspections, "recursive");
        assert!(20 < inspections.chain(task).len());
        thread::sleep(PAUSE);
    }
}

#[test]
fn awaited_futures_are_parts_of_tasks() {
    check_plain(&build(&[], "debug"));
}

#[test]
fn optimised_awaited_futures_are_parts_of_tasks() {
    check_plain(&build(&["--release"], "release"));
}

#[test]
fn futures_of_a_local_pool_are_held_by_the_thread() {
    let program = Program::run(&build(&[], "debug"), "pool");
    let Some(mut inspections) = program.inspections() else {
        return;
    };
    inspections.inspect();
    let boxes = inspections.boxes();
    let pooled = boxes.values();
    let pooled = pooled.filter(|task| inspections.chain(task).iter().any(|of| of.0 == "pooled"));
    let pooled: Vec<_> = pooled.collect();
    assert_eq!(pooled.len(), 5, "{boxes:#?}");
    for task in pooled {
        let TaskOwner::Thread(tid) = task.owner else {
            panic!("{task:?}");
        };
        assert_ne!(tid, program.pid(), "{}", function(&task.name));
    }
}
