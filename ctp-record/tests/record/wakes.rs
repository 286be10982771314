//! CTP-15, CTP-16: each event wakes a sleeping recorder, with a single ring. An awake recorder
//! costs the program no system call.

use std::process::Command;

use crate::lab::{Lab, Outcome, fixture, runs};

/// The number before these words in the closing lines.
fn counter(outcome: &Outcome, words: &str) -> u64 {
    let (before, _) = outcome
        .stderr
        .split_once(words)
        .expect("is printed with -v");
    let digits = before
        .trim_end()
        .rsplit(' ')
        .next()
        .expect("follows a number");
    digits.parse().expect("a number")
}

fn notified(outcome: &Outcome) -> u64 {
    counter(outcome, " times, ")
}

/// Pauses about as long as the recorder takes to fall asleep, and longer. Both are longer on a busy
/// machine.
fn never_rescued(low_us: u64, mut high_us: u64) {
    while notified_within(low_us, high_us) == 0 {
        high_us *= 2;
    }
}

/// The number of times that the recorder had to be woken.
fn notified_within(low_us: u64, high_us: u64) -> u64 {
    let lab = Lab::new();
    let (rounds, pause_us) = ((runs(300) / 12).to_string(), format!("{low_us}-{high_us}"));
    let outcome = lab.record(&["-v"], "paced", &["truth", "1", &rounds, &pause_us]);
    lab.trace().is_complete();
    assert_eq!(counter(&outcome, " rescued"), 0, "{}", outcome.stderr);
    notified(&outcome)
}

// CTP-15
#[test]
fn no_wake_is_lost_while_the_recorder_falls_asleep() {
    never_rescued(45_000, 60_000);
}

// CTP-15
#[test]
fn no_wake_is_lost_while_the_recorder_sleeps() {
    never_rescued(55_000, 70_000);
}

// CTP-15
#[test]
fn no_wake_is_lost_in_a_long_sleep() {
    never_rescued(60_000, 120_000);
}

/// Runs a program of `examples/` under strace under the recorder. `None` if strace is missing or
/// not permitted.
fn calls(lab: &Lab, filter: &str, example: &str, arguments: &[&str]) -> Option<(u64, Outcome)> {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no strace here that may trace");
        return None;
    }
    let mut command = lab.recorder(&["-v"], "strace");
    command
        .args(["-f", "-o", "calls", "-e", filter])
        .arg(fixture(example));
    let outcome = lab.run(command.args(arguments));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let calls = lab.read("calls");
    let started = calls
        .lines()
        .filter(|line| line.contains('(') && !line.contains("resumed>"));
    Some((started.count() as u64, outcome))
}

// CTP-16, LT-01
#[test]
fn events_make_no_system_call_while_the_recorder_is_awake() {
    let count = |events: &str| {
        let lab = Lab::new();
        let arguments = ["truth", "1", "1", events];
        calls(&lab, "trace=all", "hot", &arguments).map(|(calls, _)| calls)
    };
    let (Some(few), Some(many)) = (count("100"), count("1000000")) else {
        return;
    };
    assert!(
        many < few + 100,
        "{few} calls for 100 events, {many} for 1 000 000"
    );
}

// CTP-16
#[test]
fn each_sleep_ends_with_a_single_ring() {
    let lab = Lab::new();
    let arguments = ["truth", "3", "3", "70000"];
    let Some((sends, outcome)) = calls(&lab, "trace=sendto", "paced", &arguments) else {
        return;
    };
    assert_eq!(sends, notified(&outcome));
    assert!((1..=24).contains(&sends), "{sends} rings for 24 events");
    assert_eq!(counter(&outcome, " while awake"), 0);
}
