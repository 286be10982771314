//! CTP-19, LT-15: the program is killed at any instant, and the trace has what it had done.
//!
//! `mortal` notes in memory of its own, before and after each event, what it does. Those notes
//! survive it and are compared with the trace, coroutine by coroutine.

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
/// In this file the program notes what it does.
pub const TRUTH: &str = "truth";

/// What the program noted of one coroutine.
#[derive(Clone, Copy, Debug)]
struct Noted {
    row: u64,
    begun: u64,
    done: u64,
}

/// By the probe's id, which is 0 for one that was killed amid its birth.
type Notes = Vec<(u64, Noted)>;

// CTP-19, CTP-11, CT-03, LT-15
#[test]
fn a_program_that_is_killed_at_any_instant_has_what_it_had_done_in_the_trace() {
    let (mut torn, mut whole, mut moved_in) = (0, 0, 0);
    for run in 0..runs(30) {
        let lab = Lab::new();
        // Where lanes are short, the recorder is never far behind, and the program is killed once stations
        // are used again. Long ones have room for all that a thread does.
        let is_long = run % 2 == 0;
        let pause = Duration::from_micros(run as u64 * 7_919 % 40_000);
        kill_after(&lab, is_long, pause);
        let trace = lab.trace();
        agrees(&trace, &notes(&lab));
        if is_long {
            nothing_is_missing(&trace);
        }
        let tallies = trace.coroutines.values().map(|one| one.tally().torn);
        torn += tallies.flatten().count();
        whole += trace.end().events;
        let births = trace.coroutines.values().map(|one| &one.birth);
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
        let is_second_use = |(id, _): &(u64, Noted)| 1 < id >> 24 & 0xFF_FFFF;
        wait_until("a station that is used again", || {
            notes(lab).iter().any(is_second_use)
        });
    }
    sleep(pause);
    send(Signal::KILL, program);
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(128 + 9), "{}", outcome.stderr);
}

/// None where it was killed before it made the file.
fn notes(lab: &Lab) -> Notes {
    let bytes = fs::read(lab.path(TRUTH)).unwrap_or_default();
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect();
    let rows = words.chunks_exact(3).zip(0..);
    rows.filter(|(words, _)| words[0] > 0)
        .map(|(words, row)| {
            let [begun, done, id] = words.try_into().expect("three words");
            (id, Noted { row, begun, done })
        })
        .collect()
}

fn agrees(trace: &Trace, notes: &Notes) {
    let amid_birth = notes.iter().filter(|(id, _)| *id == 0).count();
    let mut noted: BTreeMap<u64, Noted> = notes.iter().copied().filter(|it| it.0 != 0).collect();
    let mut strangers = 0;
    for one in trace.coroutines.values() {
        match noted.remove(&one.birth.probe_id) {
            Some(noted) => is_as_noted(one, noted),
            None => {
                strangers += 1;
                let born = Noted {
                    row: 0,
                    begun: 1,
                    done: 0,
                };
                is_as_noted(one, born);
            }
        }
    }
    assert!(strangers <= amid_birth, "{strangers} of {amid_birth}");
    assert!(noted.is_empty(), "not in the trace: {noted:?}");
    assert_eq!(trace.end().quarantined, 0);
}

fn nothing_is_missing(trace: &Trace) {
    assert_eq!(trace.end().lost, 0);
    for one in trace.coroutines.values() {
        let tally = one.tally();
        let numbers: Vec<u64> = one.events.iter().map(|event| event.n).collect();
        let all: Vec<u64> = (0..tally.attempted).collect();
        assert_eq!(numbers, all, "{tally:?}");
    }
}

/// The same of a flight recorder's trace: who is not told of one by one was over, and is in a sum.
pub fn agrees_with_notes(trace: &Trace, lab: &Lab) {
    let notes = notes(lab);
    let amid_birth = notes.iter().filter(|(id, _)| *id == 0).count() as u64;
    let mut noted: BTreeMap<u64, Noted> = notes.into_iter().filter(|it| it.0 != 0).collect();
    let mut strangers = 0;
    for one in trace.coroutines.values() {
        match noted.remove(&one.birth.probe_id) {
            Some(noted) => is_as_noted(one, noted),
            None => strangers += 1,
        }
    }
    assert!(strangers <= amid_birth, "{strangers} of {amid_birth}");
    let former: u64 = trace.formers.iter().map(|it| it.coroutines).sum();
    assert_eq!(noted.len() as u64, former);
    // One may be over and not have noted it: its thread stood still while others went on.
    let is_over = |it: &Noted| EVENTS <= it.begun && it.begun <= it.done + 1;
    assert!(noted.values().all(is_over), "{noted:?}");
    let events: u64 = trace.formers.iter().map(|it| it.events).sum();
    let done: u64 = noted.values().map(|it| it.done).sum();
    let begun: u64 = noted.values().map(|it| it.begun).sum();
    assert!((done..=begun).contains(&events), "{events}: {noted:?}");
    assert_eq!((trace.end().quarantined, trace.end().lost), (0, 0));
    trace.has_no_gaps();
}

/// Events that the program has noted: no fewer than are done, no more than are begun.
pub fn events_noted(lab: &Lab) -> std::ops::RangeInclusive<u64> {
    let notes = notes(lab);
    let done = notes.iter().map(|(_, noted)| noted.done).sum();
    done..=notes.iter().map(|(_, noted)| noted.begun).sum()
}

/// How many coroutines the program has noted so far.
pub fn coroutines(lab: &Lab) -> usize {
    notes(lab).len()
}

/// What events of a program that runs on say is what it computed.
pub fn events_are_as_computed(trace: &Trace, lab: &Lab) {
    let noted: BTreeMap<u64, Noted> = notes(lab).into_iter().collect();
    for one in trace.coroutines.values() {
        if let Some(noted) = noted.get(&one.birth.probe_id) {
            events_are_whole(one, *noted);
        }
    }
}

/// What was done is accounted for, what was begun and not done is there, torn or not, never two of
/// these; and the last whole events are what they were in the program.
fn is_as_noted(one: &Coroutine, noted: Noted) {
    let tally = one.tally();
    let context = format!("{noted:?} {tally:?}");
    assert!(!tally.inexact, "{context}");
    assert!(
        (noted.done..=noted.begun).contains(&tally.attempted),
        "{context}"
    );
    let is_torn = tally.torn.is_some();
    if is_torn {
        assert_eq!(tally.torn, Some(tally.attempted), "{context}");
        assert!(noted.done < noted.begun, "{context}");
        assert_eq!(tally.attempted, noted.done, "{context}");
    }
    let slots = if is_torn { 7 } else { 8 };
    // Of one that ended, only what lanes have is in a flight recorder's window.
    let is_over = one
        .events
        .last()
        .is_some_and(|it| it.kind == EventKind::Death);
    let slots = if is_over && one.earlier > 0 {
        slots.min(one.events.len())
    } else {
        slots
    };
    let tail: Vec<u64> = one
        .events
        .iter()
        .rev()
        .take(slots)
        .map(|event| event.n)
        .collect();
    let expected: Vec<u64> = (0..tally.attempted).rev().take(slots).collect();
    assert_eq!(tail, expected, "{context}");
    events_are_whole(one, noted);
}

fn events_are_whole(one: &Coroutine, noted: Noted) {
    let last = noted.begun - 1;
    for event in &one.events {
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
                argument(noted.row, event.n, event.tid),
                "{event:?}"
            );
        }
    }
}

/// The same arithmetic stands in the program.
fn argument(row: u64, n: u64, tid: u64) -> u64 {
    (row << 40 | n << 20 | tid).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
