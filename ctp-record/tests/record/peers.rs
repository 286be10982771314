//! CTP-12, CTP-13, CT-04: peers that speak plain cTP v1, in both dialects, with and without a
//! socket. The program logs each event that it wrote. A recorded event that does not match a logged
//! event, field for field, was torn or mixed from two.

use std::collections::BTreeMap;

use ctp_trace::record::{Dialect, Event, EventKind};

use crate::lab::{Lab, runs};
use crate::trace::{Coroutine, Trace};

struct Truth {
    /// By probe id, each event's (time, thread, runs, address).
    events: BTreeMap<u64, Vec<(u64, u64, bool, u64)>>,
    /// Free bytes that were changed.
    touched: String,
}

impl Truth {
    fn read(lab: &Lab) -> Self {
        let mut lines = lab.truth("truth");
        let touched = lines.pop().expect("is the last line")[1].clone();
        let mut events: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in lines {
            let number = |index: usize| line[index].parse::<u64>().expect("a number");
            let of_first = events.entry(number(0)).or_default();
            assert_eq!(of_first.len() as u64, number(1));
            of_first.push((number(2), number(3), line[4] == "true", number(5)));
        }
        Truth { events, touched }
    }

    /// Every event in the trace was written so, and as many were as the trace says.
    fn bears_out(&self, trace: &Trace, dialect: Dialect, deaths: u64) {
        assert_eq!(trace.coroutines.len(), self.events.len());
        assert_eq!(trace.end().quarantined, 0);
        for coroutine in trace.coroutines.values() {
            let written = &self.events[&coroutine.birth.probe_id];
            assert_eq!(coroutine.birth.dialect, dialect);
            assert_eq!(
                coroutine.event_counts().attempted,
                written.len() as u64 + deaths
            );
            assert_eq!(coroutine.event_counts().torn, None);
            assert_eq!(died(coroutine), deaths == 1);
            let events = coroutine
                .events
                .iter()
                .filter(|event| event.kind != EventKind::Death);
            for event in events {
                let so = as_written(event, trace.start.started_monotonic_ns);
                assert_eq!(so, written[event.n as usize], "event {}", event.n);
            }
        }
    }
}

fn as_written(event: &Event, zero: u64) -> (u64, u64, bool, u64) {
    let runs = event.kind == EventKind::Run;
    (event.at.0 + zero, event.tid, runs, event.arg)
}

fn died(coroutine: &Coroutine) -> bool {
    coroutine.last() == EventKind::Death
}

/// 100 events, 2 ms apart, of a peer that rings, or fewer of a peer that a timer finds: none may be
/// missing. Even on a busy machine the peer is at most a few events ahead of the recorder.
fn paced(dialect: Dialect, name: &str, extra: &[&str]) {
    let lab = Lab::new();
    let (events, pause_us) = if extra.contains(&"silent") {
        ("40", "15000")
    } else {
        ("100", "2000")
    };
    let arguments = ["truth", name, "3", events, "1", pause_us, "patient"];
    lab.record(&[], "v1_writer", &[&arguments[..], extra].concat());
    let (truth, trace) = (Truth::read(&lab), lab.trace());
    trace.is_complete();
    truth.bears_out(&trace, dialect, extra.contains(&"dead").into());
    assert_eq!(truth.touched, "0");
}

/// What a flight recorder has of them: the latest events of each, and how many there were.
pub fn latest(dialect: Dialect, name: &str) {
    let lab = Lab::new();
    let arguments = ["truth", name, "3", "40000", "5000", "3000", "dead"];
    lab.record(&["--flight-recorder"], "v1_writer", &arguments);
    let trace = lab.trace();
    Truth::read(&lab).bears_out(&trace, dialect, 1);
    for coroutine in trace.coroutines.values() {
        assert!((7..=9).contains(&coroutine.events.len()), "{coroutine:?}");
        assert_eq!(coroutine.lost(), 0);
    }
}

/// Bursts that lap the slots many times: what is missing is counted, what is there is whole.
fn bursty(dialect: Dialect, name: &str) {
    let lab = Lab::new();
    let arguments = ["truth", name, "3", "40000", "5000", "3000", "dead"];
    lab.record(&[], "v1_writer", &arguments);
    Truth::read(&lab).bears_out(&lab.trace(), dialect, 1);
}

// CTP-12, CTP-08
#[test]
fn a_paced_d1_peer_loses_nothing() {
    paced(Dialect::V1PerStation, "d1", &[]);
}

// CTP-13, CTP-08, CTP-20
#[test]
fn a_paced_d2_peer_loses_nothing() {
    paced(Dialect::V1PerSlot, "d2", &["dead"]);
}

// CT-04, CTP-12
#[test]
fn a_d1_peer_without_a_socket_loses_nothing() {
    paced(Dialect::V1PerStation, "d1", &["silent", "dead"]);
}

// CT-04, CTP-13
#[test]
fn a_d2_peer_without_a_socket_loses_nothing() {
    paced(Dialect::V1PerSlot, "d2", &["silent"]);
}

// CTP-12, CTP-11
#[test]
fn a_bursty_d1_peer_is_never_torn_and_the_loss_is_exact() {
    bursty(Dialect::V1PerStation, "d1");
}

// CTP-13, CTP-11
#[test]
fn a_bursty_d2_peer_is_never_torn_and_the_loss_is_exact() {
    bursty(Dialect::V1PerSlot, "d2");
}

// CTP-12
#[test]
fn dialect_is_recognised_during_the_first_events() {
    for (dialect, name) in [(Dialect::V1PerStation, "d1"), (Dialect::V1PerSlot, "d2")] {
        let lab = Lab::new();
        lab.record(&[], "v1_writer", &["truth", name, "400", "3", "3", "0"]);
        let trace = lab.trace();
        trace.is_complete();
        Truth::read(&lab).bears_out(&trace, dialect, 0);
    }
}

// CT-04
#[test]
fn our_probe_without_a_working_socket_is_fully_recorded() {
    for no_socket in ["-uCTP_SOCK_PATH", "CTP_SOCK_PATH=/nowhere/sock"] {
        let lab = Lab::new();
        let mut command = lab.recorder(&[], "env");
        command.arg(no_socket).arg(crate::lab::fixture("paced"));
        let outcome = lab.run(command.args(["truth", "3", "12", "6000"]));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        let trace = lab.trace();
        trace.is_complete();
        for line in lab.truth("truth") {
            let attempted = trace.named(&line[0]).event_counts().attempted;
            assert_eq!(attempted.to_string(), line[1]);
        }
    }
}

/// Sixteen coroutines, each of which is marked dead right after its last event, of a program that ends
/// so right after that. `flags` are the recorder's.
fn deaths_before(how: &str, status: i32, flags: &[&str], extra: &[&str]) {
    for run in 0..runs(20) {
        let lab = Lab::new();
        let dialect = ["d1", "d2"][run % 2];
        let words = ["truth", dialect, "16", "6", "6", "0", "dead", how];
        let mut command = lab.recorder(flags, crate::lab::fixture("v1_writer"));
        let outcome = lab.run(command.args([&words[..], extra].concat()));
        assert_eq!(outcome.status.code(), Some(status), "{}", outcome.stderr);
        let trace = lab.trace();
        assert_eq!(trace.coroutines.len(), 16, "{run}: {}", outcome.stderr);
        for coroutine in trace.coroutines.values() {
            assert!(died(coroutine), "{run}: {coroutine:?}");
            assert_eq!(coroutine.events.len(), 6 + 1, "{run}: {coroutine:?}");
        }
    }
}

// CTP-20, CT-03
#[test]
fn deaths_before_an_exit_are_in_the_trace() {
    deaths_before("exit", 7, &[], &[]);
}

// CTP-20, CT-03
#[test]
fn deaths_before_an_abort_are_in_the_trace() {
    deaths_before("abort", 128 + 6, &[], &[]);
}

// CTP-20, CT-03
#[test]
fn deaths_before_a_sigkill_are_in_the_trace() {
    deaths_before("kill", 128 + 9, &[], &[]);
}

// CTP-20, CT-03, CT-04
#[test]
fn deaths_of_a_peer_without_a_socket_are_in_the_trace() {
    deaths_before("exit", 7, &[], &["silent"]);
}

// CTP-20, CT-03
#[test]
fn deaths_before_the_end_are_in_every_kind_of_trace() {
    for flag in ["--wait-all", "--summary", "--flight-recorder", "--no-bell"] {
        deaths_before("exit", 7, &[flag], &[]);
    }
}

/// Sixteen coroutines without an event, of which `extra` says more; what the trace has of them.
fn without_events(flags: &[&str], extra: &[&str]) -> Trace {
    let lab = Lab::new();
    let words = ["truth", "d2", "16", "0", "1", "0"];
    let outcome = lab.record(flags, "v1_writer", &[&words[..], extra].concat());
    assert!(
        outcome.stderr.contains("16 coroutines, "),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains(" 0 lost"), "{}", outcome.stderr);
    lab.trace()
}

const ALL_KINDS: [&[&str]; 4] = [&[], &["--summary"], &["--flight-recorder"], &["--no-bell"]];

// CTP-13, CTP-20
#[test]
fn deaths_without_any_event_are_in_the_trace() {
    for flags in ALL_KINDS {
        let trace = without_events(flags, &["dead"]);
        assert_eq!(trace.coroutines.len(), 16);
        assert!(trace.coroutines.values().all(died));
        for coroutine in trace.coroutines.values() {
            assert_eq!(
                (coroutine.events.len(), coroutine.event_counts().attempted),
                (1, 1)
            );
        }
    }
}

// CTP-13
#[test]
fn deaths_before_the_window_of_a_snapshot_are_not_lost() {
    for events in ["0", "6"] {
        let lab = Lab::new();
        let program = crate::lab::fixture("v1_writer");
        let mut command = lab.recorder(&["--flight-recorder=1us"], "sh");
        let script = r#""$0" truth d2 16 "$1" 6 0 dead && sleep 0.1"#;
        let outcome = lab.run(command.args(["-c", script]).arg(program).arg(events));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("16 coroutines, "),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(" 0 lost"), "{}", outcome.stderr);
        let trace = lab.trace();
        assert_eq!((trace.coroutines.len(), trace.end().lost), (0, 0));
    }
}

// CTP-13
#[test]
fn coroutines_without_any_event_are_in_the_trace() {
    for flags in ALL_KINDS {
        let trace = without_events(flags, &[]);
        assert_eq!(trace.coroutines.len(), 16);
        for coroutine in trace.coroutines.values() {
            assert_eq!(
                (coroutine.events.len(), coroutine.event_counts().attempted),
                (0, 0)
            );
            assert!(!coroutine.event_counts().inexact);
        }
    }
}
