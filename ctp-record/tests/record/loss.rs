//! CTP-11: what is lost is counted, to the event.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::lab::{Lab, fixture, send};
use crate::trace::Trace;

/// The program's own count of each coroutine matches the trace. (Every trace reader checks that
/// recorded and lost events add up.)
pub fn counts_agree(lab: &Lab) -> Trace {
    agrees(lab, lab.trace())
}

pub fn agrees(lab: &Lab, trace: Trace) -> Trace {
    let truth = lab.truth("truth");
    assert_eq!(trace.coroutines.len(), truth.len());
    for line in truth {
        let event_counts = trace.named(&line[0]).event_counts();
        assert_eq!(event_counts.attempted.to_string(), line[1], "{}", line[0]);
        assert!(!event_counts.inexact);
    }
    assert_eq!(trace.end().quarantined, 0);
    trace
}

// CTP-08, CTP-11
#[test]
fn paced_events_are_all_recorded_in_order() {
    let lab = Lab::new();
    lab.record(&[], "paced", &["truth", "5", "40", "1000"]);
    counts_agree(&lab).is_complete();
}

// CTP-11
#[test]
fn events_of_a_burst_are_recorded_or_counted() {
    let lab = Lab::new();
    let outcome = lab.record(&["--buffer", "0"], "hot", &["truth", "3", "4", "20000"]);
    let lost = counts_agree(&lab).end().lost;
    assert!(lost > 0, "a burst that loses nothing proves nothing");
    let line = format!(" {} lost", grouped(lost));
    assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
}

// CTP-11
#[test]
fn events_are_counted_under_a_stopped_recorder() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["--buffer", "64K"], fixture("hot"));
    let recorder = command.args(["truth", "2", "3", "200000"]).spawn();
    let recorder = recorder.expect("can be started");
    lab.wait_for_file("truth.ready");
    send(Signal::STOP, recorder.id());
    sleep(Duration::from_millis(100));
    send(Signal::CONT, recorder.id());
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert!(counts_agree(&lab).end().lost > 0);
}

// CTP-11
#[test]
fn program_that_ends_under_a_stopped_recorder_is_counted() {
    let lab = Lab::new();
    let mut command = lab.recorder(&[], fixture("hot"));
    let recorder = command.args(["truth", "2", "3", "20000"]).spawn();
    let recorder = recorder.expect("can be started");
    lab.wait_for_file("truth.ready");
    send(Signal::STOP, recorder.id());
    lab.wait_for_file("truth");
    send(Signal::CONT, recorder.id());
    assert_eq!(lab.outcome(recorder).status.code(), Some(0));
    for coroutine in counts_agree(&lab).coroutines.values() {
        assert_eq!(coroutine.last(), ctp_trace::record::EventKind::Death);
    }
}

fn grouped(number: u64) -> String {
    let digits: Vec<u8> = number.to_string().into_bytes();
    let groups = digits.rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(" ")
}
