//! Firmware for a Cortex-M4: a dump of its memory, judged by the reporter.

use std::sync::OnceLock;

use serde_json::Value;

use crate::dump::Dumped;
use crate::machine::CORTEX_M;
use crate::support::{line_of, report_json};

/// Runs the firmware once for all tests.
fn dumped() -> Option<&'static Dumped> {
    static DUMPED: OnceLock<Option<Dumped>> = OnceLock::new();
    let dumped = DUMPED.get_or_init(|| Dumped::of(&CORTEX_M, "cortex-m-tasks"));
    dumped.as_ref()
}

// CTP-27, LT-27
#[test]
fn lost_wakeup_of_firmware_is_named_by_line() {
    let Some(dumped) = dumped() else { return };
    assert_eq!(dumped.lost(), ["radio"], "the firmware's own account");
    let group = dumped.stuck();
    assert_eq!(
        (&group["count"], &group["names"]),
        (&Value::from(1), &Value::from(vec!["radio"]))
    );
    let line = line_of(&CORTEX_M.source("tasks.rs"), "the wakeup is lost here");
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
    let ended = dumped.tasks.values().filter(|task| task.is_in_a_run());
    let deaths = ended.count() as u64;
    let moves: u64 = dumped.tasks.values().map(|task| task.moves()).sum();
    let found = report_json(dumped.directory.path(), &["--stuck"]);
    let count = |name: &str| found["trace"][name].as_u64().expect("a count");
    assert!(1_000 < moves, "few events: {:?}", dumped.tasks);
    let in_dump = count("events") + count("summed_up");
    assert_eq!((in_dump, count("lost")), (births + moves + deaths, 0));
}
