//! Firmware for a Cortex-M4, run by QEMU: a dump of its memory, read by the recorder and judged by
//! the reporter. The firmware prints its own account of each task.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::machine::{self, Machine, SAME_TIME};
use crate::support::{line_of, program, report_json};

/// The firmware's own account of a task.
#[derive(Clone, Copy, Debug)]
struct Account {
    runs: u64,
    suspends: u64,
    wakes: u64,
    answered: u64,
}

/// A directory with the trace of a dump, and what the firmware printed.
struct Dumped {
    directory: TempDir,
    tasks: BTreeMap<String, Account>,
}

/// Runs the firmware once for all tests. `None`, with a visible reason, without QEMU or the target.
fn dumped() -> Option<&'static Dumped> {
    static DUMPED: OnceLock<Option<Dumped>> = OnceLock::new();
    DUMPED.get_or_init(dump).as_ref()
}

fn dump() -> Option<Dumped> {
    let firmware = machine::firmware("cortex-m-tasks")?;
    let directory = tempdir().expect("room");
    let mut machine = Machine::start(&firmware, directory.path(), &SAME_TIME);
    let lines = machine.lines_until_done();
    drop(machine);
    let recorded = Command::new(program("ctp-record"))
        .args(["--image", "ram.bin", "--elf"])
        .arg(&firmware)
        .current_dir(directory.path())
        .output()
        .expect("the recorder runs");
    assert!(recorded.status.success(), "{recorded:?}");
    let tasks = lines.iter().map(|line| account(line)).collect();
    Some(Dumped { directory, tasks })
}

/// Parses `task NAME runs N suspends N wakes N answered N`.
fn account(line: &str) -> (String, Account) {
    let words: Vec<&str> = line.split(' ').collect();
    let [
        "task",
        name,
        "runs",
        runs,
        "suspends",
        suspends,
        "wakes",
        wakes,
        "answered",
        answered,
    ] = words[..]
    else {
        panic!("unexpected line: {line}");
    };
    let number = |word: &str| word.parse().expect("a number");
    let account = Account {
        runs: number(runs),
        suspends: number(suspends),
        wakes: number(wakes),
        answered: number(answered),
    };
    (name.to_owned(), account)
}

// CTP-27, LT-27
#[test]
fn lost_wakeup_of_firmware_is_named_by_line() {
    let Some(dumped) = dumped() else { return };
    let stuck = dumped
        .tasks
        .iter()
        .filter(|(_, task)| task.answered < task.wakes);
    let names: Vec<&String> = stuck.map(|(name, _)| name).collect();
    assert_eq!(names, ["radio"], "the firmware's own account");
    let found = report_json(dumped.directory.path(), &["--stuck"]);
    let Some([group]) = found["stuck"].as_array().map(Vec::as_slice) else {
        panic!("{found:#}");
    };
    assert_eq!(
        (&group["count"], &group["names"]),
        (&Value::from(1), &Value::from(vec!["radio"]))
    );
    let line = line_of(&machine::source("tasks.rs"), "the wakeup is lost here");
    assert_eq!(
        (&group["file"], &group["line"]),
        (&"src/tasks.rs".into(), &line.into())
    );
    assert_eq!(group["function"], "cortex_m_tasks::tasks::radio");
}

// CTP-11, AGG-24
#[test]
fn events_of_firmware_are_counted_exactly() {
    let Some(dumped) = dumped() else { return };
    let births = dumped.tasks.len() as u64;
    let deaths = dumped
        .tasks
        .values()
        .filter(|task| task.suspends < task.runs)
        .count() as u64;
    let moves: u64 = dumped
        .tasks
        .values()
        .map(|task| task.runs + task.suspends)
        .sum();
    let found = report_json(dumped.directory.path(), &["--stuck"]);
    let count = |name: &str| found["trace"][name].as_u64().expect("a count");
    assert!(1_000 < moves, "few events: {:?}", dumped.tasks);
    let in_dump = count("events") + count("summed_up");
    assert_eq!((in_dump, count("lost")), (births + moves + deaths, 0));
}
