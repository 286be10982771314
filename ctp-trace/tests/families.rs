//! The parent of each coroutine, where the trace proves it, and the tree of families.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

#[expect(dead_code, reason = "other tests use the other functions")]
mod facts;

use ctp_trace::TraceModel;
use ctp_trace::model::{Family, FamilyId};
use ctp_trace::record::*;
use facts::{event, trace_model};

use EventKind::{Birth as Born, Death, Run, Suspend};

fn described(id: u32, name: &str) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        name: name.into(),
        ..Birth::default()
    })
}

fn thread_event(at: u64, act: Act) -> Record {
    Record::ThreadEvent(ThreadEvent {
        at: Nanos(at),
        act,
        ..ThreadEvent::default()
    })
}

/// A parent runs, and a child is born on the same thread, with records before and in between.
fn born_with(before: &[Record], between: &[Record]) -> TraceModel {
    let runs = [described(1, "parent"), event(1, 0, 10, Run)];
    let birth = [described(2, "child"), event(2, 0, 20, Born)];
    trace_model(&[before, &runs, between, &birth].concat())
}

fn parent(trace_model: &TraceModel, id: u32) -> Option<u32> {
    Some(trace_model.get(CoroutineId(id)).unwrap().parent?.id.0)
}

const BEGIN: Act = Act::Begin;

// CT-25
#[test]
fn the_coroutine_running_at_a_birth_is_the_parent() {
    let reported = [thread_event(1, BEGIN)];
    let trace_model = born_with(&reported, &[]);
    assert_eq!(
        (parent(&trace_model, 2), parent(&trace_model, 1)),
        (Some(1), None)
    );
    let name = trace_model
        .get(CoroutineId(2))
        .unwrap()
        .parent
        .unwrap()
        .name;
    assert_eq!(trace_model.name(name), "parent");
    let waits = born_with(&reported, &[event(1, 1, 15, Suspend)]);
    let is_over = born_with(&reported, &[event(1, 1, 15, Death)]);
    assert_eq!((parent(&waits, 2), parent(&is_over, 2)), (None, None));
}

// CT-25
#[test]
fn no_parent_where_records_may_be_missing() {
    let stop = |stopped| {
        Record::Control(Control {
            at: Nanos(12),
            stopped,
            ..Control::default()
        })
    };
    let lost = thread_event(15, Act::Loss(3));
    let elsewhere = Record::Event(Event {
        coroutine: CoroutineId(1),
        n: 2,
        at: Nanos(15),
        tid: 9,
        kind: Run,
        ..Event::default()
    });
    let later = [described(3, "later"), event(3, 0, 25, Run)];
    let of = |before: &[Record], between: &[Record]| parent(&born_with(before, between), 2);
    let reported = |between: &[Record]| of(&[thread_event(1, BEGIN)], between);
    assert_eq!(of(&[], &[]), None, "the thread has no earlier history");
    assert_eq!(reported(&[lost]), None);
    assert_eq!(reported(&[stop(true), stop(false)]), None);
    assert_eq!(reported(&[elsewhere]), None);
    assert_eq!(reported(&later), None, "the birth is out of order");
    assert_eq!(reported(&[]), Some(1));
}

// CT-25
#[test]
fn a_loss_reported_late_removes_earlier_parents() {
    let with = [
        thread_event(1, BEGIN),
        described(3, "other"),
        event(3, 0, 5, Run),
    ];
    let mut trace_model = born_with(&with, &[]);
    assert_eq!(parent(&trace_model, 2), Some(1));
    trace_model.consume(&event(1, 1, 15, Suspend));
    trace_model.consume(&thread_event(30, Act::Loss(3)));
    assert_eq!(
        (parent(&trace_model, 2), trace_model.parents_unknown()),
        (None, 3)
    );
    let mut families = trace_model.families();
    assert!(families.all(|(_, family)| family.parent.is_none() || family.coroutines == 0));
}

// CT-25
#[test]
fn a_new_thread_runs_no_coroutine() {
    let ran_before = [thread_event(15, BEGIN)];
    assert_eq!(
        parent(&born_with(&[thread_event(1, BEGIN)], &ran_before), 2),
        None
    );
    assert_eq!(parent(&born_with(&[], &ran_before), 2), None);
}

// CT-25
#[test]
fn a_second_run_takes_over_before_the_first_suspends() {
    let next = [
        described(3, "next"),
        event(3, 0, 12, Run),
        event(1, 1, 13, Suspend),
    ];
    assert_eq!(
        parent(&born_with(&[thread_event(1, BEGIN)], &next), 2),
        Some(3)
    );
}

// CT-25
#[test]
fn a_flight_recorder_knows_parents_where_the_window_is_whole() {
    let window = |since, unattributed| {
        Record::Window(Window {
            since: Nanos(since),
            unattributed,
            ..Window::default()
        })
    };
    // The totals of a coroutine come before its events.
    let totals = Record::Aggregate(Box::new(Aggregate {
        coroutine: CoroutineId(2),
        at: Nanos(40),
        ..Aggregate::default()
    }));
    let of = |window: Record| {
        let trace_model = born_with(&[window], std::slice::from_ref(&totals));
        (parent(&trace_model, 2), trace_model.parents_unknown())
    };
    assert_eq!(of(window(5, 0)), (Some(1), 1));
    assert_eq!((of(window(11, 0)).0, of(window(5, 12)).0), (None, None));
}

/// Each coroutine is born while the previous coroutine runs.
fn chain(names: &[&str]) -> TraceModel {
    let mut trace_model = trace_model(&[thread_event(1, BEGIN)]);
    for (id, name) in (1..).zip(names) {
        let at = u64::from(id) * 10;
        trace_model.consume(&described(id, name));
        trace_model.consume(&event(id, 0, at, Born));
        trace_model.consume(&event(id, 1, at + 1, Run));
    }
    trace_model
}

fn families(trace_model: &TraceModel) -> Vec<(FamilyId, Family)> {
    let all = trace_model.families();
    all.map(|(id, family)| (id, family.clone())).collect()
}

// CT-25
#[test]
fn recursive_spawns_share_a_family_at_any_depth() {
    let names: Vec<String> = (0..1000).map(|id| format!("{}-{id}", id % 2)).collect();
    let trace_model = chain(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let families = families(&trace_model);
    let [(even, first), (_, second)] = families.as_slice() else {
        panic!("{families:?}")
    };
    assert_eq!((first.parent, second.parent), (None, Some(*even)));
    assert_eq!((first.coroutines, second.coroutines), (500, 500));
    assert!(first.is_recursive && !second.is_recursive);
    assert!(first.names_differ && trace_model.name(first.name) == "0-0");
    assert_eq!(parent(&trace_model, 1000), Some(999), "each has a parent");
}

// CT-25
#[test]
fn the_family_tree_is_bounded() {
    let names: Vec<String> = (0..1 << 17)
        .map(|id| format!("{id:b}").replace('0', "o").replace('1', "i"))
        .collect();
    let trace_model = chain(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let families = families(&trace_model);
    assert!(families.len() <= 1 << 16);
    assert!(families.iter().all(|(_, family)| family.generation < 16));
    let all: u64 = families.iter().map(|(_, family)| family.coroutines).sum();
    assert_eq!(all, 1 << 17, "each is in a family");
    let is_later =
        |(id, family): &(FamilyId, Family)| family.parent.is_none_or(|parent| parent < *id);
    assert!(families.iter().all(is_later));
}
