//! Violations: events that contradict each other.

use ctp_trace::TraceModel;
use ctp_trace::model::Violation;
use ctp_trace::record::EventKind::{Birth as Born, Death, Run, Suspend};
use ctp_trace::record::*;

use crate::facts::event;

/// The violations found in these events, each with the threads of both contradicting events.
fn violations(dialect: Dialect, events: &[(u64, EventKind, u64)]) -> Vec<(Violation, u64, u64)> {
    let mut trace_model = TraceModel::new();
    trace_model.consume(&Record::Birth(Birth {
        coroutine: CoroutineId(1),
        dialect,
        ..Birth::default()
    }));
    for &(n, kind, tid) in events {
        trace_model.consume(&Record::Event(Event {
            coroutine: CoroutineId(1),
            n,
            tid,
            kind,
            ..Event::default()
        }));
    }
    let broken = trace_model.broken();
    assert!(
        broken
            .iter()
            .all(|broken| broken.count == broken.proofs.len() as u64)
    );
    let proofs = broken.iter().flat_map(|broken| &broken.proofs);
    proofs
        .map(|contradiction| {
            (
                contradiction.violation,
                contradiction.before.tid,
                contradiction.after.tid,
            )
        })
        .collect()
}

// CTP-31, STB-01
#[test]
fn contradicting_events_are_violations() {
    use Violation::*;
    let of = |events: &[(u64, EventKind, u64)]| violations(Dialect::Extended, events);
    assert_eq!(
        of(&[(0, Born, 7), (1, Run, 8), (2, Run, 9)]),
        [(DoubleResume, 8, 9)]
    );
    assert_eq!(
        of(&[(0, Suspend, 8), (1, Suspend, 9)]),
        [(SuspendedTwice, 8, 9)]
    );
    assert_eq!(of(&[(0, Death, 8), (1, Run, 8)]), [(AfterDeath, 8, 8)]);
    assert_eq!(of(&[(0, Born, 8), (1, Born, 8)]), [(BornTwice, 8, 8)]);
}

// CTP-31
#[test]
fn possible_histories_are_no_violation() {
    let of = |events: &[(u64, EventKind, u64)]| violations(Dialect::Extended, events);
    let wanders = [
        (0, Born, 7),
        (1, Run, 8),
        (2, Suspend, 8),
        (3, Run, 9),
        (4, Death, 8),
    ];
    assert_eq!(of(&wanders), []);
    assert_eq!(
        of(&[(0, Run, 8), (1, Run, 8)]),
        [],
        "recorded twice on the same thread"
    );
    assert_eq!(
        of(&[(0, Run, 8), (2, Run, 9)]),
        [],
        "events in between are lost"
    );
    assert_eq!(
        of(&[(5, Run, 8), (5, Run, 9), (4, Suspend, 9)]),
        [],
        "event numbers went back"
    );
    assert_eq!(of(&[(0, Run, 0), (1, Run, 9)]), [], "unknown thread");
}

/// Published v1 wrappers resume without a suspend where an awaited value was ready (D-T10).
// CTP-31
#[test]
fn a_plain_v1_peer_never_violates() {
    let odd = [
        (0, Run, 8),
        (1, Run, 9),
        (2, Suspend, 8),
        (3, Suspend, 9),
        (4, Death, 9),
        (5, Run, 8),
    ];
    assert_eq!(violations(Dialect::V1PerSlot, &odd), []);
    assert_eq!(violations(Dialect::V1PerStation, &odd), []);
}

// CTP-31
#[test]
fn violations_beyond_a_thousand_are_only_counted() {
    let mut trace_model = TraceModel::new();
    for id in 1..=1_200 {
        for n in 0..3 {
            trace_model.consume(&event(id, n, 0, Suspend));
        }
    }
    let broken = trace_model.broken();
    assert!(broken.iter().all(|broken| broken.count == 2));
    assert_eq!(broken.len(), 1_000);
    assert_eq!(trace_model.more_violations(), 400);
}
