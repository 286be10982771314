//! The cycles of real programs: each member's blocker, and where that took its lock.

use std::collections::BTreeSet;

use serde_json::Value;
use tempfile::tempdir;

use crate::support::{line_of, record, record_with, report_json};

const TOKIO: &str = include_str!("../../zoo/src/bin/zoo_deadlock_tokio.rs");

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// Of each member of the only cycle: its name, its blocker's name, how it is blocked, and where the
/// blocker took the lock.
fn cycle(json: &Value) -> Vec<[String; 4]> {
    let [deadlock] = list(&json["deadlocks"]) else {
        panic!("one cycle: {}", json["deadlocks"]);
    };
    list(&deadlock["cycle"])
        .iter()
        .map(|value| {
            let by = &value["blockers"][0];
            [&value["name"], &by["name"], &by["how"], &by["taken_at"]]
                .map(|value| value.as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

/// Each diner is blocked by the neighbour on the right.
fn round_the_table() -> Vec<[String; 4]> {
    let taken = line_of(TOKIO, "FORKS[slot].lock()");
    let name = |i: usize| format!("diner-{}", i % 3);
    let at = format!("zoo_deadlock_tokio.rs:{taken}");
    (0..3)
        .map(|i| [name(i), name(i + 1), "holder".to_owned(), at.clone()])
        .collect()
}

fn sorted(mut cycle: Vec<[String; 4]>) -> Vec<[String; 4]> {
    cycle.sort();
    cycle
}

// CT-15
#[test]
fn diners_wait_for_the_next_diners_fork() {
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_deadlock_tokio", &[]);
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(sorted(cycle(&json)), round_the_table());
    assert_eq!(json["deadlocks"][0]["confidence"], "CERTAIN");
}

// CT-15
#[test]
fn transfers_deadlock_through_the_steps_they_poll() {
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_deadlock_inside", &[]);
    let json = report_json(directory.path(), &["--stuck"]);
    let links = cycle(&json).into_iter();
    let links: BTreeSet<_> = links.map(|[name, by, how, _]| [name, by, how]).collect();
    let link = |name: &str, by: &str, how: &str| [name, by, how].map(str::to_owned);
    let all = [
        link("transfer-0", "deposit-1", "inside"),
        link("deposit-1", "transfer-1", "holder"),
        link("transfer-1", "deposit-0", "inside"),
        link("deposit-0", "transfer-0", "holder"),
    ];
    assert_eq!(links, BTreeSet::from(all));
}

// CT-15
#[test]
fn why_shows_the_whole_cycle() {
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_deadlock_tokio", &[]);
    let cycle = &report_json(directory.path(), &["--stuck"])["deadlocks"][0]["cycle"];
    let id = cycle[0]["id"].to_string();
    let blocked = &report_json(directory.path(), &["--why", &id])["why"]["blocked"];
    let name = |step: &Value| {
        step["by"][0]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let mut names: Vec<String> = list(&blocked["steps"]).iter().map(name).collect();
    assert_eq!(names.last().map(String::as_str), cycle[0]["name"].as_str());
    names.sort();
    assert_eq!(names, ["diner-0", "diner-1", "diner-2"]);
    assert_eq!(blocked["ends"], "cycle");
}

// CT-15, CT-24
#[test]
fn lock_cycles_in_a_flight_recorder_are_likely() {
    let directory = tempdir().expect("room");
    record_with(
        &["--flight-recorder"],
        directory.path(),
        "zoo_deadlock_tokio",
        &[],
    );
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(sorted(cycle(&json)), round_the_table());
    let message = ["confidence", "caveat"].map(|field| &json["deadlocks"][0][field]);
    assert_eq!(message, ["LIKELY", "incomplete"]);
}

// CT-15
#[test]
fn joins_in_a_circle_are_a_deadlock() {
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_join_cycle", &[]);
    let name = |i: usize| format!("follower-{}", i % 3);
    let expected: Vec<_> = (0..3)
        .map(|i| [name(i), name(i + 1), "awaited".to_owned(), String::new()])
        .collect();
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(sorted(cycle(&json)), expected);
}

// CT-24
#[test]
fn without_lanes_no_lock_has_a_known_holder() {
    let directory = tempdir().expect("room");
    record_with(
        &["--buffer", "0"],
        directory.path(),
        "zoo_deadlock_tokio",
        &[],
    );
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(json["deadlocks"], Value::Array(Vec::new()));
}

// CT-15
#[test]
fn waiters_for_an_unclaimed_lock_are_likely_stuck() {
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_unclaimed", &[]);
    let json = report_json(directory.path(), &["--stuck"]);
    let groups = list(&json["stuck"]).iter();
    let reported: BTreeSet<_> = groups
        .map(|group| {
            let by = &group["blockers"][0];
            let is_match = by["how"] == "previous-holder" && by["name"] == "background";
            (group["count"].as_u64(), is_match, by["does"] == "woke")
        })
        .collect();
    let all = [(Some(1), true, true), (Some(3), true, false)];
    assert_eq!(reported, BTreeSet::from(all));
}
