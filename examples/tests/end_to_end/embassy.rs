//! Firmware on embassy's executors, run by QEMU: its hooks recorded what the tasks did. The firmware
//! prints its own account of its tasks, and of the frames that no task has taken.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::dump::record_dump;
use crate::event_counts::event_counts;
use crate::machine::{CORTEX_M, Machine, SAME_TIME};
use crate::support::{line_of, report_json};

/// The firmware's own account of the tasks of a function.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    spawned: u64,
    polls: u64,
    pending: u64,
}

impl Account {
    /// Whether the function was spawned once.
    pub fn is_spawned_once(self) -> bool {
        self.spawned == 1
    }

    /// The events of all tasks of the function.
    pub fn events(self) -> u64 {
        let ended = self.polls - self.pending;
        self.spawned + self.polls + self.pending + ended
    }
}

/// What the firmware printed.
#[derive(Debug)]
pub struct Printed {
    pub tasks: BTreeMap<String, Account>,
    missed_frames: u64,
}

impl Printed {
    /// Parses lines of words and numbers in turn.
    pub fn parse(lines: &[String]) -> Self {
        let mut printed = Printed {
            tasks: BTreeMap::new(),
            missed_frames: 0,
        };
        let number = |word: &str| word.parse().expect("a number");
        for line in lines {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["missed", "frames", missed] => printed.missed_frames = number(missed),
                [
                    "task",
                    name,
                    "spawned",
                    spawned,
                    "polls",
                    polls,
                    "pending",
                    pending,
                ] => {
                    let account = Account {
                        spawned: number(spawned),
                        polls: number(polls),
                        pending: number(pending),
                    };
                    printed.tasks.insert(name.to_owned(), account);
                }
                _ => panic!("unexpected line: {line}"),
            }
        }
        printed
    }
}

/// The trace of a dump, and what the firmware printed.
struct Dumped {
    directory: TempDir,
    printed: Printed,
}

/// Runs the firmware once for all tests. `None`, with a visible reason, without QEMU or the target.
fn dumped() -> Option<&'static Dumped> {
    static DUMPED: OnceLock<Option<Dumped>> = OnceLock::new();
    DUMPED.get_or_init(dump).as_ref()
}

fn dump() -> Option<Dumped> {
    let firmware = CORTEX_M.firmware("embassy-tasks")?;
    let directory = tempdir().expect("room");
    let mut machine = Machine::start(&CORTEX_M, &firmware, directory.path(), &SAME_TIME);
    let printed = Printed::parse(&machine.lines_until_done());
    drop(machine);
    record_dump(directory.path(), &firmware);
    Some(Dumped { directory, printed })
}

// LT-27
#[test]
fn lost_wakeup_of_an_embassy_task_is_named_by_line() {
    let Some(dumped) = dumped() else { return };
    assert!(0 < dumped.printed.missed_frames, "{:?}", dumped.printed);
    let found = report_json(dumped.directory.path(), &["--stuck"]);
    let Some([group]) = found["stuck"].as_array().map(Vec::as_slice) else {
        panic!("{found:#}");
    };
    assert_eq!(
        (&group["count"], &group["names"]),
        (&Value::from(1), &Value::from(vec!["radio"]))
    );
    let line = line_of(
        &CORTEX_M.source("embassy/tasks.rs"),
        "the wakeup is lost here",
    );
    assert_eq!(
        (&group["file"], &group["line"]),
        (&"src/embassy/tasks.rs".into(), &line.into())
    );
    // The wakers of embassy are not counted.
    assert_eq!(group["reason"], "far-beyond", "{group:#}");
}

// CTP-11
#[test]
fn events_of_embassy_tasks_are_counted_exactly() {
    let Some(dumped) = dumped() else { return };
    let mut counts = event_counts(dumped.directory.path());
    let main = counts.remove("").expect("the task that spawns the others");
    assert_eq!(main.attempted, 3, "it is born, runs and ends");
    for (name, account) in &dumped.printed.tasks {
        let counts = counts.remove(name).expect("the task is recorded");
        let found = counts.attempted;
        if account.is_spawned_once() {
            assert_eq!(found, account.events(), "{name}");
        } else {
            // The station has the latest of these tasks only.
            assert!(1 < account.spawned && 1 <= found && found < account.events());
        }
    }
    assert!(counts.is_empty(), "{counts:?}");
}
