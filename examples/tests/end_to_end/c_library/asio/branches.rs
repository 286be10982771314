//! Coroutines with branches: which wait is recorded, and by which thread.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ctp_trace::Reader;
use ctp_trace::record::{
    Act, CoroutineId, Event, EventKind, Hold, Record, SiteId, ThreadEvent, WaitKind, Waker,
};
use serde_json::Value;
use tempfile::tempdir;

use super::super::build::{CPP_COMPILERS, Compiler, Linked, lines_of_recorded};
use super::super::misuse::{Events, expected_events, source};
use super::{HAS_BOOST, group_at_line_of};
use crate::support::report_json;

const SOURCE: &str = "asio/branches.cpp";

/// The scenes with exact events.
const SCENES: [&str; 5] = ["both", "nested", "exceptions", "destroyed", "untraced"];

/// The lock that the program acquires outside of coroutines.
const OUTSIDE: u64 = 1000;

fn check(compiler: &Compiler) {
    let directory = tempdir().expect("room");
    if !compiler.accepts(directory.path(), HAS_BOOST) {
        return;
    }
    let Some(program) = compiler.compile(directory.path(), &source(SOURCE), Linked::Static) else {
        return;
    };
    for scene in SCENES {
        recorded_waits_are_outstanding(&program, scene);
    }
    threads_have_their_coroutines(&program);
    stuck_branch_is_reported(&program);
}

fn records(directory: &Path) -> Vec<Record> {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    Reader::new(&bytes).expect("a trace").flatten().collect()
}

/// The events of each coroutine, in order.
fn events_of(records: &[Record]) -> BTreeMap<CoroutineId, Vec<Event>> {
    let mut events: BTreeMap<CoroutineId, Vec<Event>> = BTreeMap::new();
    for record in records {
        if let Record::Event(event) = record {
            events.entry(event.coroutine).or_default().push(*event);
        }
    }
    for events in events.values_mut() {
        events.sort_by_key(|event| event.n);
    }
    events
}

fn names_of(records: &[Record]) -> BTreeMap<CoroutineId, String> {
    let births = records.iter().filter_map(|record| match record {
        Record::Birth(birth) => Some((birth.coroutine, birth.name.clone())),
        _ => None,
    });
    births.collect()
}

/// An event as the program writes it.
fn written(before: Option<&Event>, event: &Event) -> String {
    let is_woken = before.is_some_and(|before| before.wake_seen != event.wake_seen);
    match event.kind {
        EventKind::Birth => "B".to_owned(),
        EventKind::Run if is_woken => "W".to_owned(),
        EventKind::Run => "R".to_owned(),
        EventKind::Suspend if event.wait == WaitKind::Unknown && event.site == SiteId(0) => {
            "?".to_owned()
        }
        EventKind::Suspend if event.marks.has_others => format!("{}+", event.arg),
        EventKind::Suspend => event.arg.to_string(),
        EventKind::Death => "D".to_owned(),
    }
}

fn written_events(records: &[Record]) -> Events {
    let names = names_of(records);
    let events = events_of(records).into_iter().map(|(id, events)| {
        let before = [None].into_iter().chain(events.iter().map(Some));
        let written = before
            .zip(&events)
            .map(|(before, event)| written(before, event));
        (names[&id].clone(), written.collect())
    });
    events.collect()
}

fn recorded_waits_are_outstanding(program: &Path, scene: &str) {
    let directory = tempdir().expect("room");
    let account = lines_of_recorded(directory.path(), program, &[scene]);
    let expected = expected_events(&account);
    assert!(!expected.is_empty(), "{scene}");
    assert_eq!(written_events(&records(directory.path())), expected);
}

/// A run and its end are on the same thread, and no other coroutine runs on that thread in between. What a
/// thread does is attributed to the coroutine that it runs, and to no other.
fn threads_have_their_coroutines(program: &Path) {
    let directory = tempdir().expect("room");
    lines_of_recorded(directory.path(), program, &["threads"]);
    let records = records(directory.path());
    for events in events_of(&records).values() {
        runs_end_on_their_threads(events);
    }
    threads_run_single_coroutines(&records);
    acquirers_are_those_of_the_program(&records);
}

fn runs_end_on_their_threads(events: &[Event]) {
    let letters: String = events
        .iter()
        .map(|event| format!("{:?} ", event.kind))
        .collect();
    let alternating = letters.replace("Run Suspend ", "");
    assert_eq!(alternating, "Birth Run Death ");
    for pair in events
        .windows(2)
        .filter(|pair| pair[0].kind == EventKind::Run)
    {
        assert_eq!(pair[0].tid, pair[1].tid, "{pair:?}");
    }
}

/// The events of a thread are in order in the trace.
fn threads_run_single_coroutines(records: &[Record]) {
    let mut running: BTreeMap<u64, CoroutineId> = BTreeMap::new();
    for record in records {
        let Record::Event(event) = record else {
            continue;
        };
        match event.kind {
            EventKind::Birth => {}
            EventKind::Run => assert_eq!(running.insert(event.tid, event.coroutine), None),
            EventKind::Suspend | EventKind::Death => {
                assert_eq!(running.remove(&event.tid), Some(event.coroutine));
            }
        }
    }
}

fn acquirers_are_those_of_the_program(records: &[Record]) {
    let names = names_of(records);
    let mut outside = 0;
    let mut inside = 0;
    for record in records {
        let Record::ThreadEvent(ThreadEvent {
            tid,
            act: Act::Acquire(Hold { arg, by, .. }),
            ..
        }) = record
        else {
            continue;
        };
        match by {
            Waker::Coroutine(id) => assert_eq!(names[id], arg.to_string()),
            // A branch that runs while another thread has the recorded run.
            Waker::Thread(thread) => assert_eq!(u64::from(*thread), *tid),
            other => panic!("{other:?}"),
        }
        outside += u32::from(*arg == OUTSIDE);
        inside += u32::from(matches!(by, Waker::Coroutine(_)));
    }
    assert_eq!(outside, 4 * 501);
    assert!(8 * 300 <= inside, "{inside}");
}

fn stuck_branch_is_reported(program: &Path) {
    let directory = tempdir().expect("room");
    lines_of_recorded(directory.path(), program, &["report"]);
    let json = report_json(directory.path(), &["--stuck"]);
    let stuck = json["stuck"].as_array().expect("a list");
    assert_eq!(stuck.len(), 1, "{json}");
    let group = group_at_line_of(SOURCE, &json["stuck"], "ctp::awaiting(ctp::user(7))");
    assert_eq!(group["names"][0], "stuck", "{group}");
    assert_eq!(group["waits_for"][0]["resources"][0], 7, "{group}");
    assert_eq!(group["state"], "NOT_WOKEN", "{group}");
    untraced_wait_is_not_stuck(&json["waiting"]);
}

fn untraced_wait_is_not_stuck(waiting: &Value) {
    let mut groups = waiting.as_array().expect("a list").iter();
    let naps = groups.find(|group| group["function"] == "naps");
    let naps = naps.expect("the coroutine waits");
    assert_eq!(naps["reason"], "idle", "{naps}");
    assert_eq!(naps["line"], Value::Null, "{naps}");
}

// CT-12, CT-13, CT-16
#[test]
fn branches_of_asio_are_recorded_with_gcc() {
    check(&CPP_COMPILERS[1]);
}

// CT-12, CT-13, CT-16
#[test]
fn branches_of_asio_are_recorded_with_clang() {
    check(&CPP_COMPILERS[2]);
}
