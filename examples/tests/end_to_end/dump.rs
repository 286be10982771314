//! Firmware with an executor of its own, run by QEMU, and a dump of its memory, read by the recorder. The
//! firmware prints its own account of each task.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::machine::{Board, Machine, SAME_TIME};
use crate::support::{program, report_json};

/// The firmware's own account of a task.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    runs: u64,
    suspends: u64,
    wakes: u64,
    answered: u64,
}

impl Account {
    /// The runs and suspends of the task.
    pub fn moves(self) -> u64 {
        self.runs + self.suspends
    }

    /// Whether the latest run has no suspend.
    pub fn is_in_a_run(self) -> bool {
        self.suspends < self.runs
    }
}

/// A directory with the trace of a dump, and what the firmware printed.
pub struct Dumped {
    pub directory: TempDir,
    pub tasks: BTreeMap<String, Account>,
}

impl Dumped {
    /// Runs the firmware. `None`, with a visible reason, without QEMU or the target.
    pub fn of(board: &Board, firmware: &str) -> Option<Self> {
        let firmware = board.firmware(firmware)?;
        let directory = tempdir().expect("room");
        let mut machine = Machine::start(board, &firmware, directory.path(), &SAME_TIME);
        let tasks = accounts(&machine.lines_until_done());
        drop(machine);
        record_dump(directory.path(), &firmware);
        Some(Dumped { directory, tasks })
    }

    /// The tasks that have not run since their latest wake, by the firmware's own account.
    pub fn lost(&self) -> Vec<&str> {
        let lost = self
            .tasks
            .iter()
            .filter(|(_, task)| task.answered < task.wakes);
        lost.map(|(name, _)| name.as_str()).collect()
    }

    /// The only group of the report's stuck coroutines.
    pub fn stuck(&self) -> Value {
        let found = report_json(self.directory.path(), &["--stuck"]);
        let Some([group]) = found["stuck"].as_array().map(Vec::as_slice) else {
            panic!("{found:#}");
        };
        group.clone()
    }
}

/// Records the memory in `ram.bin`.
pub fn record_dump(directory: &Path, firmware: &Path) {
    let recorded = Command::new(program("ctp-record"))
        .args(["--image", "ram.bin", "--elf"])
        .arg(firmware)
        .current_dir(directory)
        .output()
        .expect("the recorder runs");
    assert!(recorded.status.success(), "{recorded:?}");
}

/// The account of each task, by name.
pub fn accounts(lines: &[String]) -> BTreeMap<String, Account> {
    lines.iter().map(|line| account(line)).collect()
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
