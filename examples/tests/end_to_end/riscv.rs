//! Firmware for a 32-bit RISC-V with compact memory: a dump, and a recording while QEMU runs the firmware
//! in real time.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::tempdir;

use crate::dump::{Dumped, accounts};
use crate::event_counts::event_counts;
use crate::live_recorder::record_followed;
use crate::machine::{Board, RISCV, RISCV_WITH_RING};
use crate::support::{line_of, report_json};

const FIRMWARE: &str = "riscv-tasks";

/// Events that compact memory keeps of each coroutine.
const KEPT: u64 = 2;

/// Runs the firmware once for all tests of the dump.
fn dumped() -> Option<&'static Dumped> {
    static DUMPED: OnceLock<Option<Dumped>> = OnceLock::new();
    DUMPED.get_or_init(|| Dumped::of(&RISCV, FIRMWARE)).as_ref()
}

// CTP-27, LT-27
#[test]
fn wakeup_lost_by_a_full_queue_is_named_by_line() {
    let Some(dumped) = dumped() else { return };
    assert_eq!(dumped.lost(), ["radio"], "the firmware's own account");
    let group = dumped.stuck();
    assert_eq!(
        (&group["count"], &group["names"]),
        (&Value::from(1), &Value::from(vec!["radio"]))
    );
    let line = line_of(&RISCV.source("tasks.rs"), "the wakeup is lost here");
    assert_eq!(
        (&group["file"], &group["line"]),
        (&"src/tasks.rs".into(), &line.into())
    );
    assert_eq!(group["function"], "riscv_tasks::tasks::radio");
    assert_eq!(group["reason"], "passed-over", "{group:#}");
}

// CTP-11
#[test]
fn events_in_compact_memory_are_counted_exactly() {
    let Some(dumped) = dumped() else { return };
    let counts = event_counts(dumped.directory.path());
    assert_eq!(counts.len(), dumped.tasks.len());
    for (name, account) in &dumped.tasks {
        let found = &counts[name];
        assert_eq!(found.attempted, 1 + account.moves(), "{name}");
        assert_eq!(found.recorded, KEPT, "{name}");
    }
}

/// Follows the firmware of a board, and compares each task's events with the firmware's account. `false` if
/// the firmware cannot be built or run here.
fn is_followed_completely(board: &Board, directory: &Path) -> bool {
    let Some(firmware) = board.firmware(FIRMWARE) else {
        return false;
    };
    let printed = accounts(&record_followed(board, &firmware, directory));
    let counts = event_counts(directory);
    assert_eq!(counts.len(), printed.len());
    for (name, account) in &printed {
        let found = &counts[name];
        assert_eq!(found.attempted, 1 + account.moves(), "{name}");
        assert!(
            KEPT <= found.recorded && found.recorded <= found.attempted,
            "{name}: {found:?}"
        );
    }
    true
}

// CTP-11
#[test]
fn followed_compact_memory_is_recorded_completely() {
    let directory = tempdir().expect("room");
    is_followed_completely(&RISCV, directory.path());
}

// CTP-11
#[test]
fn followed_ring_is_recorded_with_its_wakes() {
    let directory = tempdir().expect("room");
    if !is_followed_completely(&RISCV_WITH_RING, directory.path()) {
        return;
    }
    let dump = report_json(directory.path(), &["--dump"]);
    let records = dump["records"].as_array().expect("a list");
    // Slots have the count of wakes, but only a ring has a record of each.
    let mut wakes = records.iter().filter(|record| record["record"] == "wakes");
    assert!(wakes.next().is_some());
}
