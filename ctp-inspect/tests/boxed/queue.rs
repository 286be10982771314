//! The boxed futures of an executor that is written by hand.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ctp_trace::record::{TaskOwner, TaskState};

use crate::program::{Inspections, Program, build, build_in, function};
use crate::support::core_by_gdb;

/// The types of all futures that were found, by address.
fn found(inspections: &Inspections) -> BTreeMap<u64, String> {
    let boxes = inspections.boxes().into_iter();
    boxes
        .map(|(address, task)| (address, function(&task.name).to_owned()))
        .collect()
}

/// Checks where each future waits, and what holds it.
pub fn check_places(program: &Program, inspections: &Inspections) {
    let line = |name: &str| program.numbers[name];
    for (address, kind) in &program.boxes {
        let task = inspections.boxes()[address];
        let chain = inspections.chain(task);
        let expected = match kind.as_str() {
            "nested" => vec![("nested", line("nested")), ("inner", line("inner"))],
            "awaits_box" => vec![("awaits_box", line("awaits_box")), ("inner", line("inner"))],
            "unstarted" | "instrumented" => vec![(kind.as_str(), chain[0].1)],
            other => vec![(other, line(other))],
        };
        assert_eq!(chain, expected);
        let is_started = kind != "unstarted" && kind != "instrumented";
        let state = if is_started {
            TaskState::Idle
        } else {
            TaskState::NotStarted
        };
        assert_eq!(task.state, state, "{kind}");
        let owner = TaskOwner::Static("boxed::queue::QUEUE".to_owned());
        assert_eq!(task.owner, owner, "{kind}");
    }
}

fn check(path: &Path) {
    let program = Program::run(path, "queue");
    let Some(mut inspections) = program.inspections() else {
        return;
    };
    inspections.inspect();
    assert_eq!(found(&inspections), program.boxes);
    check_places(&program, &inspections);
    let boxes = inspections.boxes();
    assert!(boxes.values().all(|task| !task.may_be_freed), "{boxes:#?}");
    assert_eq!(inspections.end.gaps, [""; 0]);
}

// STB-22
#[test]
fn futures_of_a_queue_are_found() {
    check(&build(&[], "debug"));
}

#[test]
fn optimised_futures_of_a_queue_are_found() {
    check(&build(&["--release"], "release"));
}

#[test]
fn a_core_file_has_the_same_futures() {
    let program = Program::run(&build(&[], "debug"), "queue");
    let directory = tempfile::tempdir().unwrap();
    let Some(path) = core_by_gdb(directory.path(), program.pid()) else {
        return;
    };
    let mut inspections = Inspections::of_core_file(&path);
    inspections.inspect();
    assert_eq!(found(&inspections), program.boxes);
    check_places(&program, &inspections);
}

#[test]
fn another_allocator_does_not_say_what_is_in_use() {
    let path = build_in("boxed-mimalloc", &["--features", "mimalloc"], "debug");
    let program = Program::run(&path, "queue");
    let Some(mut inspections) = program.inspections() else {
        return;
    };
    inspections.inspect();
    let boxes = inspections.boxes();
    for (address, kind) in &program.boxes {
        let task = boxes.get(address).unwrap_or_else(|| panic!("no {kind}"));
        assert!(task.may_be_freed, "{task:?}");
    }
    let gaps = &inspections.end.gaps;
    assert!(
        gaps.iter().any(|gap| gap.ends_with("some may be freed")),
        "{gaps:?}"
    );
}

#[test]
fn a_stripped_program_says_that_nothing_is_found() {
    let path = build(&[], "debug");
    let directory = tempfile::tempdir().unwrap();
    let stripped = directory.path().join("stripped");
    let mut strip = Command::new("strip");
    let status = strip.arg("-o").arg(&stripped).arg(path).status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: strip");
        return;
    }
    let program = Program::run(&stripped, "queue");
    let Some(mut inspections) = program.inspections() else {
        return;
    };
    inspections.inspect();
    assert_eq!(found(&inspections), BTreeMap::new());
    let gaps = &inspections.end.gaps;
    let has_gap = |gap: &String| gap.ends_with("its boxed futures are not found");
    assert!(gaps.iter().any(has_gap), "{gaps:?}");
}
