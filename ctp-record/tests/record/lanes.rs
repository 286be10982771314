//! History that is whole: more events than slots hold, and threads that come and go.

use ctp_trace::record::{Act, Deed};

use crate::lab::Lab;
use crate::loss::counts_agree;

/// What the closing lines say was used.
fn lanes(stderr: &str) -> u32 {
    let words: Vec<&str> = stderr.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("lane"));
    let count = at.and_then(|at| words[at - 1].parse().ok());
    count.expect("the verbose lines tell of lanes")
}

// CT-11, LT-07
#[test]
fn a_burst_that_lanes_can_hold_is_recorded_without_loss() {
    let lab = Lab::new();
    let outcome = lab.record(&["-v"], "hot", &["truth", "3", "8", "10000"]);
    counts_agree(&lab).is_complete();
    assert_eq!(lanes(&outcome.stderr), 3);
}

// LT-07
#[test]
fn what_no_lane_could_take_is_counted_and_the_user_told_of_larger_ones() {
    let lab = Lab::new();
    let outcome = lab.record(&["--buffer", "1K"], "hot", &["truth", "2", "3", "50000"]);
    let trace = counts_agree(&lab);
    assert!(trace.end().lost > 0, "32 records are overrun");
    let said = &outcome.stderr;
    assert!(said.contains("a larger --buffer"), "{said}");
}

/// The trace of so many threads, which has all that they did.
fn brief(lab: &Lab, threads: &str, at_once: &str, cycles: &str) -> String {
    brief_with(&["-v"], lab, threads, at_once, cycles)
}

fn brief_with(flags: &[&str], lab: &Lab, threads: &str, at_once: &str, cycles: &str) -> String {
    let outcome = lab.record(flags, "brief", &["truth", threads, at_once, cycles]);
    let trace = lab.trace();
    trace.is_complete();
    assert_eq!(trace.end().events.to_string(), lab.truth("truth")[0][0]);
    outcome.stderr
}

// LT-13
#[test]
fn ten_thousand_short_threads_use_few_lanes() {
    let said = brief(&Lab::new(), "10000", "8", "10");
    assert!(lanes(&said) <= 16, "{said}");
    assert!(!said.contains("found no buffer"), "{said}");
}

// LT-12
#[test]
fn threads_that_find_no_lane_are_recorded_from_slots_and_told_of() {
    let lab = Lab::new();
    let said = brief(&lab, "200", "200", "3");
    assert!(said.contains("found no buffer"), "{said}");
    let is_loss = |deed: &&Deed| deed.act == Act::Loss(0);
    assert_eq!(lab.trace().deeds.iter().filter(is_loss).count(), 1);
    let said = brief_with(&["-v", "--buffer", "1M"], &Lab::new(), "900", "900", "3");
    assert_eq!(lanes(&said), 900, "{said}");
    assert!(!said.contains("found no buffer"), "{said}");
}

// CTP-30, LT-04
#[test]
fn what_a_signal_handler_records_amid_an_event_harms_neither() {
    let lab = Lab::new();
    let outcome = lab.record(&["--buffer", "64M"], "nested", &["truth", "1000000"]);
    let trace = counts_agree(&lab);
    // Where many handlers come amid one event, the last ones are left out, and counted.
    trace.has_no_gaps();
    assert!(trace.end().lost < trace.end().events / 100);
    let inner = trace.named("inner").tally().attempted;
    let handled = inner.saturating_sub(500_000); // those of its switches
    assert!(
        handled > 200,
        "{handled} events of the handler; {}",
        outcome.stderr
    );
}
