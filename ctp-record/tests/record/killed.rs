//! CTP-19, LT-15: the program is killed at any instant, and the trace has its events.
//!
//! `mortal` logs its actions in its own memory, before and after each event. The log survives the
//! program and is compared with the trace, coroutine by coroutine.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::record::EventKind;
use rustix::process::Signal;

use crate::lab::{Lab, fixture, only_child, runs, send, wait_until};
use crate::trace::{Coroutine, Trace};

/// Events of each coroutine that was not cut short.
const EVENTS: u64 = 400;
/// Fewer than the 2 097 152 records of a lane of 64M.
const LONG_LANE_EVENTS: &str = "2000000";
/// The file of the program's log.
pub const TRUTH: &str = "truth";

/// The program's log of a coroutine.
#[derive(Clone, Copy, Debug)]
struct Truth {
    row: u64,
    started: u64,
    done: u64,
}

/// By the probe's id, which is 0 for a coroutine that was killed during its birth.
type Notes = Vec<(u64, Truth)>;

// CTP-19, CTP-11, CT-03, LT-15
#[test]
fn killed_at_any_instant_the_trace_has_all_events() {
    let (mut torn, mut whole, mut moved_in) = (0, 0, 0);
    for run in 0..runs(30) {
        let lab = Lab::new();
        // With short lanes, the recorder is never far behind, and the program is killed once
        // stations are reused. Long lanes have room for all events of a thread.
        let is_long = run % 2 == 0;
        let pause = Duration::from_micros(run as u64 * 7_919 % 40_000);
        kill_after(&lab, is_long, pause);
        let trace = lab.trace();
        agrees(&trace, &notes(&lab));
        if is_long {
            nothing_is_missing(&trace);
        }
        let tallies = trace
            .coroutines
            .values()
            .map(|coroutine| coroutine.event_counts().torn);
        torn += tallies.flatten().count();
        whole += trace.end().events;
        let births = trace.coroutines.values().map(|coroutine| &coroutine.birth);
        moved_in += births.filter(|birth| birth.generation > 2).count();
    }
    println!("{torn} torn tails, {whole} events, {moved_in} coroutines in stations of others");
    assert!(
        moved_in > 0,
        "without stations that are used again this proves less"
    );
}

fn kill_after(lab: &Lab, is_long: bool, pause: Duration) {
    let buffer = if is_long { "64M" } else { "16K" };
    let mut command = lab.recorder(&["--buffer", buffer], fixture("mortal"));
    command.args([TRUTH, "3", "16", &EVENTS.to_string(), LONG_LANE_EVENTS]);
    let recorder = command.spawn().expect("can be started");
    let program = only_child(recorder.id());
    if !is_long {
        wait_until("a station that is used again", || {
            notes(lab).iter().any(|(id, _)| 1 < id >> 24 & 0xFF_FFFF)
        });
    }
    sleep(pause);
    send(Signal::KILL, program);
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(128 + 9), "{}", outcome.stderr);
}

/// `None` if it was killed before it made the file.
fn notes(lab: &Lab) -> Notes {
    let bytes = fs::read(lab.path(TRUTH)).unwrap_or_default();
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect();
    let rows = words.chunks_exact(3).zip(0..);
    rows.filter(|(words, _)| words[0] > 0)
        .map(|(words, row)| {
            let [started, done, id] = words.try_into().expect("three words");
            (id, Truth { row, started, done })
        })
        .collect()
}

fn agrees(trace: &Trace, notes: &Notes) {
    let within_birth = notes.iter().filter(|(id, _)| *id == 0).count();
    let mut recorded: BTreeMap<u64, Truth> =
        notes.iter().copied().filter(|note| note.0 != 0).collect();
    let mut strangers = 0;
    for coroutine in trace.coroutines.values() {
        match recorded.remove(&coroutine.birth.probe_id) {
            Some(recorded) => is_as_recorded(coroutine, recorded),
            None => {
                strangers += 1;
                let born = Truth {
                    row: 0,
                    started: 1,
                    done: 0,
                };
                is_as_recorded(coroutine, born);
            }
        }
    }
    assert!(strangers <= within_birth, "{strangers} of {within_birth}");
    assert!(recorded.is_empty(), "not in the trace: {recorded:?}");
    assert_eq!(trace.end().quarantined, 0);
}

fn nothing_is_missing(trace: &Trace) {
    assert_eq!(trace.end().lost, 0);
    for coroutine in trace.coroutines.values() {
        let event_counts = coroutine.event_counts();
        let numbers: Vec<u64> = coroutine.events.iter().map(|event| event.n).collect();
        let all: Vec<u64> = (0..event_counts.attempted).collect();
        assert_eq!(numbers, all, "{event_counts:?}");
    }
}

/// The same for a flight recorder's trace: a coroutine that is missing had ended, and is in a
/// total.
pub fn agrees_with_notes(trace: &Trace, lab: &Lab) {
    let notes = notes(lab);
    let within_birth = notes.iter().filter(|(id, _)| *id == 0).count() as u64;
    let mut recorded: BTreeMap<u64, Truth> = notes.into_iter().filter(|note| note.0 != 0).collect();
    let mut strangers = 0;
    for coroutine in trace.coroutines.values() {
        match recorded.remove(&coroutine.birth.probe_id) {
            Some(recorded) => is_as_recorded(coroutine, recorded),
            None => strangers += 1,
        }
    }
    assert!(strangers <= within_birth, "{strangers} of {within_birth}");
    let ended_sums: u64 = trace
        .all_ended_sums
        .iter()
        .map(|all_ended_sum| all_ended_sum.coroutines)
        .sum();
    assert_eq!(recorded.len() as u64, ended_sums);
    // A coroutine may have ended without a log entry: its thread was stopped while others
    // continued.
    let is_over = |truth: &Truth| EVENTS <= truth.started && truth.started <= truth.done + 1;
    assert!(recorded.values().all(is_over), "{recorded:?}");
    let events: u64 = trace
        .all_ended_sums
        .iter()
        .map(|all_ended_sum| all_ended_sum.events)
        .sum();
    let done: u64 = recorded.values().map(|recorded| recorded.done).sum();
    let started: u64 = recorded.values().map(|recorded| recorded.started).sum();
    assert!((done..=started).contains(&events), "{events}: {recorded:?}");
    assert_eq!((trace.end().quarantined, trace.end().lost), (0, 0));
    trace.has_no_gaps();
}

/// Events that the program has noted: no fewer than are done, no more than are begun.
pub fn events_recorded(lab: &Lab) -> std::ops::RangeInclusive<u64> {
    let notes = notes(lab);
    let done = notes.iter().map(|(_, recorded)| recorded.done).sum();
    done..=notes.iter().map(|(_, recorded)| recorded.started).sum()
}

/// How many coroutines the program has noted so far.
pub fn coroutines(lab: &Lab) -> usize {
    notes(lab).len()
}

/// The contents of the events are those that the program computed.
pub fn events_are_as_computed(trace: &Trace, lab: &Lab) {
    let recorded: BTreeMap<u64, Truth> = notes(lab).into_iter().collect();
    for coroutine in trace.coroutines.values() {
        if let Some(recorded) = recorded.get(&coroutine.birth.probe_id) {
            events_are_whole(coroutine, *recorded);
        }
    }
}

/// What was done is accounted for, what was begun and not done is there, torn or not, never two of
/// these; and the last whole events are what they were in the program.
fn is_as_recorded(coroutine: &Coroutine, recorded: Truth) {
    let event_counts = coroutine.event_counts();
    let context = format!("{recorded:?} {event_counts:?}");
    assert!(!event_counts.inexact, "{context}");
    assert!(
        (recorded.done..=recorded.started).contains(&event_counts.attempted),
        "{context}"
    );
    let is_torn = event_counts.torn.is_some();
    if is_torn {
        assert_eq!(event_counts.torn, Some(event_counts.attempted), "{context}");
        assert!(recorded.done < recorded.started, "{context}");
        assert_eq!(event_counts.attempted, recorded.done, "{context}");
    }
    let slots = if is_torn { 7 } else { 8 };
    // For an ended coroutine, a flight recorder's window has only the events in lanes.
    let is_over = coroutine
        .events
        .last()
        .is_some_and(|event| event.kind == EventKind::Death);
    let slots = if is_over && coroutine.earlier > 0 {
        slots.min(coroutine.events.len())
    } else {
        slots
    };
    let tail: Vec<u64> = coroutine
        .events
        .iter()
        .rev()
        .take(slots)
        .map(|event| event.n)
        .collect();
    let expected: Vec<u64> = (0..event_counts.attempted).rev().take(slots).collect();
    assert_eq!(tail, expected, "{context}");
    events_are_whole(coroutine, recorded);
}

fn events_are_whole(coroutine: &Coroutine, recorded: Truth) {
    let last = recorded.started - 1;
    for event in &coroutine.events {
        let dies = event.n == last && event.kind == EventKind::Death && event.n + 1 >= EVENTS;
        let kind = match event.n {
            0 => EventKind::Birth,
            _ if dies => EventKind::Death,
            odd if odd % 2 == 1 => EventKind::Run,
            _ => EventKind::Suspend,
        };
        assert_eq!(event.kind, kind, "{event:?}");
        if kind == EventKind::Suspend {
            assert_eq!(
                event.arg,
                argument(recorded.row, event.n, event.tid),
                "{event:?}"
            );
        }
    }
}

/// The same arithmetic stands in the program.
fn argument(row: u64, n: u64, tid: u64) -> u64 {
    (row << 40 | n << 20 | tid).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
