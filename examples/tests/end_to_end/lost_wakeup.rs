//! The headline: 47 coroutines wait for descriptors that were closed without waking them, for
//! certain. What the report says is compared with what the program itself counted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{line_of, record_with, report, report_json};
use serde_json::Value;
use tempfile::tempdir;

const SOURCE: &str = include_str!("../../src/bin/lost_wakeup.rs");
const REACTOR: &str = include_str!("../../mini-rt/src/reactor.rs");

/// The program's own account: descriptors whose readers never returned.
fn truth(path: &std::path::Path) -> BTreeSet<u64> {
    let text = fs::read_to_string(path).expect("the program writes its account");
    text.lines()
        .filter_map(|line| line.strip_prefix("stuck "))
        .map(|fd| fd.parse().expect("a descriptor"))
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn sum_of_counts(groups: &Value) -> u64 {
    list(groups).iter().map(count).sum()
}

fn count(group: &Value) -> u64 {
    group["count"].as_u64().expect("a count")
}

// CT-13, CT-14
#[test]
fn exactly_the_47_are_reported_at_their_await_line() {
    the_47_are_named(&[]);
}

#[test]
fn summary_reports_the_47() {
    the_47_are_named(&["--summary"]);
}

#[test]
fn flight_recorder_reports_the_47() {
    the_47_are_named(&["--flight-recorder"]);
}

/// They have waited for longer than that: of each there are the events that its station holds.
#[test]
fn the_47_are_reported_if_stuck_before_the_window() {
    the_47_are_named(&["--flight-recorder=100ms"]);
}

// LT-09, CT-26
#[test]
fn the_47_are_reported_once_while_the_program_runs() {
    let directory = tempdir().expect("room");
    let triggers = "stuck:500ms,exit:nonzero";
    let flags = ["--flight-recorder=256K", "--snapshot-on", triggers];
    // Checks of a flight recorder have the lowest priority, and may take seconds on a busy machine.
    let arguments = ["--after", "12"];
    let recorded = record_with(&flags, directory.path(), "lost_wakeup", &arguments);
    let message = String::from_utf8_lossy(&recorded.stderr);
    let line = line_of(SOURCE, "conn.read(&mut buf).await");
    let expected = format!("47 stuck at examples/src/bin/lost_wakeup.rs:{line} ");
    assert_eq!(message.matches(&expected).count(), 1, "{message}");
    let flags = ["--stuck", "--threshold", "500ms", "-i", "ctp.data.1"];
    let json = report_json(directory.path(), &flags);
    let here = list(&json["stuck"])
        .iter()
        .filter(|value| value["line"] == line);
    assert_eq!(here.map(count).sum::<u64>(), 47, "{json}");
}

fn the_47_are_named(flags: &[&str]) {
    let directory = tempdir().expect("room");
    let account = directory.path().join("truth");
    let arguments = ["--truth", &account.to_string_lossy()];
    let recorded = record_with(flags, directory.path(), "lost_wakeup", &arguments);
    assert_eq!(recorded.status.code(), Some(0));
    let message = String::from_utf8_lossy(&recorded.stderr);
    assert!(
        message.contains("47 coroutines look stuck; next: ctp-report --stuck"),
        "{message}"
    );

    let json = report_json(directory.path(), &["--stuck"]);
    let stuck = list(&json["stuck"]);
    assert_eq!(sum_of_counts(&json["stuck"]), 47);
    for group in stuck {
        assert_eq!(group["state"], "NOT_WOKEN", "{group}");
        assert_eq!(
            group["line"],
            line_of(SOURCE, "conn.read(&mut buf).await"),
            "{group}"
        );
        let file = group["file"].as_str().expect("a file");
        assert!(file.ends_with("examples/src/bin/lost_wakeup.rs"), "{file}");
        let function = group["function"].as_str().expect("a function");
        assert!(function.ends_with("read_frame"), "{function}");
        assert!(group["oldest_ns"].as_u64() > Some(1_000_000_000), "{group}");
    }
    let waits = stuck.iter().flat_map(|group| list(&group["waits_for"]));
    let readable = waits.filter(|wait| wait["kind"] == "readable");
    let fds = readable.flat_map(|wait| list(&wait["resources"]));
    let reported: BTreeSet<u64> = fds.map(|fd| fd.as_u64().expect("a number")).collect();
    assert_eq!(reported, truth(&account));
    if flags.is_empty() {
        let sure = stuck
            .iter()
            .filter(|stuck| stuck["confidence"] == "CERTAIN");
        assert_eq!(sure.map(count).sum::<u64>(), 47, "{json}");
    }
    if flags.is_empty() || flags == ["--flight-recorder"] {
        // Totals have no thread events, and neither has a window that began later.
        the_reactor_is_named(directory.path(), stuck);
    } else {
        // Totals have no thread events. Reused numbers may be seen closed.
        let is_likely =
            |value: &Value| value["confidence"] == "LIKELY" || value["reason"] == "seen-closed";
        assert!(stuck.iter().all(is_likely), "{json}");
    }
    assert_eq!(
        report(directory.path(), &["--stuck", "--fail"])
            .status
            .code(),
        Some(3)
    );
}

/// The line that closes without a wake, and the line that wakes all others, from the source.
fn the_reactor_is_named(directory: &Path, stuck: &[Value]) {
    let place = |line| format!("examples/mini-rt/src/reactor.rs:{line}");
    let close = place(line_of(REACTOR, "source.close_fd();"));
    let wake = place(1 + line_of(REACTOR, "EventFlags::IN | EventFlags::RDHUP) {"));
    let text = report(directory, &["--stuck"]).stdout;
    let text = String::from_utf8(text).expect("text");
    let points = |line: &str| line.contains("closed by") && line.contains("Reactor::on_hangup");
    let line = text.lines().find(|line| points(line)).expect(&text);
    assert!(
        line.ends_with(&format!("{close}   <== look here")),
        "{line}"
    );
    let mut coroutines = 0;
    for group in stuck {
        let closed = list(&group["closed_by"]);
        assert_eq!(closed.len(), 1, "{group}");
        assert!(ends_with(&closed[0]["at"], &close), "{group}");
        assert!(ends_with(&closed[0]["function"], "Reactor::on_hangup"));
        coroutines += closed[0]["coroutines"].as_u64().expect("a count");
        let waker = &group["usual_waker"];
        assert!(ends_with(&waker["at"], &wake), "{group}");
        assert!(
            ends_with(&waker["function"], "Reactor::dispatch"),
            "{group}"
        );
    }
    assert_eq!(coroutines, 47);
}

fn ends_with(value: &Value, end: &str) -> bool {
    value.as_str().is_some_and(|text| text.ends_with(end))
}

// CT-14, CT-26
#[test]
fn without_the_bug_nothing_is_stuck() {
    let directory = tempdir().expect("room");
    let flags = ["--stuck-after", "1s"];
    let recorded = record_with(&flags, directory.path(), "lost_wakeup", &["--fixed"]);
    let message = String::from_utf8_lossy(&recorded.stderr);
    assert!(!message.contains(" stuck at "), "{message}");
    assert!(message.contains("nothing looks stuck"), "{message}");
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(sum_of_counts(&json["stuck"]), 0, "{json}");
    assert_eq!(
        report(directory.path(), &["--stuck", "--fail"])
            .status
            .code(),
        Some(0)
    );
}
