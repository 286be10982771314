//! Programs that end, have no symbols, or are no programs of tokio.

use std::process::Command;

use ctp_inspect::{Inspector, ProcessTarget, TargetError, TraceIds};
use ctp_trace::record::ProcessId;

use crate::program::{Program, built, inspect, inspector};

#[test]
fn stripped_programs_have_the_same_tasks() {
    let directory = tempfile::tempdir().expect("a directory");
    let stripped = directory.path().join("stripped");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(&stripped)
        .arg(built())
        .status();
    if !strip.is_ok_and(|status| status.success()) {
        return eprintln!("SKIPPED: no strip");
    }
    let mut program = Program::start_at(&stripped, "all", 3);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let inspected = inspect(&mut inspector, &mut TraceIds::default());
    let found: Vec<u64> = inspected.spawned().map(|task| task.address).collect();
    assert_eq!(found, program.tasks().into_keys().collect::<Vec<_>>());
}

#[test]
fn programs_without_tokio_have_no_tasks() {
    let target = match ProcessTarget::open(std::process::id()) {
        Ok(target) => target,
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    let mut inspector = Inspector::new(Box::new(target), ProcessId(1));
    let inspected = inspect(&mut inspector, &mut TraceIds::default());
    assert_eq!(inspected.tasks, []);
    assert!(
        inspected.end.runtimes.is_empty(),
        "{:?}",
        inspected.end.runtimes
    );
}

#[test]
fn program_that_exits_gives_an_error_and_no_tasks() {
    let program = Program::start("churn", 5);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let mut ids = TraceIds::default();
    let end = std::thread::spawn(move || drop(program));
    let error = loop {
        match inspector.inspect(&mut ids) {
            Ok(records) => assert!(2 <= records.len()),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, TargetError::Ended), "{error}");
    end.join().expect("the program is killed");
}
