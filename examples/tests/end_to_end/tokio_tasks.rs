//! A program on plain tokio: one of its coroutines waits for an answer that was lost.

use crate::support::{record, record_line, report_json};
use serde_json::Value;
use tempfile::tempdir;

fn groups<'j>(json: &'j Value, view: &str) -> Vec<(&'j str, &'j str, u64)> {
    let text = |group: &'j Value, key: &str| group[key].as_str().unwrap_or_default();
    let groups = json[view].as_array().expect("a list").iter();
    groups
        .map(|group| {
            (
                text(group, "function"),
                text(group, "state"),
                group["count"].as_u64().unwrap_or(0),
            )
        })
        .collect()
}

// CT-12, CT-13
#[test]
fn unanswered_task_is_not_woken_and_has_the_function() {
    let directory = tempdir().expect("room");
    let recorded = record(directory.path(), "tokio_tasks", &[]);
    assert_eq!(recorded.status.code(), Some(0));
    let json = report_json(directory.path(), &["--stuck"]);
    let stuck = groups(&json, "stuck");
    assert_eq!(stuck, [("tokio_tasks::ask", "NOT_WOKEN", 1)], "{json}");
    let source = include_str!("../../src/bin/tokio_tasks.rs");
    let begins = source
        .lines()
        .position(|line| line.starts_with("async fn ask"));
    let group = &json["stuck"][0];
    assert_eq!(group["line"], begins.expect("present") + 1);
    assert_eq!(group["in_function"], true, "the line is not where it waits");
}

// CTP-34
#[test]
fn sites_are_shared_by_all_processes_of_a_program() {
    let directory = tempdir().expect("room");
    let recorded = record_line(directory.path(), r#""$0" & "$0" & wait"#, "tokio_tasks");
    assert_eq!(recorded.status.code(), Some(0));
    let json = report_json(directory.path(), &["--stuck"]);
    let stuck = groups(&json, "stuck");
    assert_eq!(stuck, [("tokio_tasks::ask", "NOT_WOKEN", 2)], "{json}");
}
