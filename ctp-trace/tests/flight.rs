//! Traces of flight recorders: events in the window, events in totals, and lost events.

mod facts;

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{Level, Reason, Verdict};
use facts::{end, event, event_counts, trace_model};

use EventKind::{Run, Suspend};

const SECOND: u64 = 1_000_000_000;

fn durations(all: &[u64]) -> Durations {
    let mut durations = Durations::default();
    all.iter()
        .for_each(|ns| durations.add(Nanos(*ns), Bins::USUAL));
    durations
}

fn birth(id: u32) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        name: "worker".into(),
        ..Birth::default()
    })
}

fn aggregate(id: u32, waits: &[u64]) -> Record {
    Record::Aggregate(Box::new(Aggregate {
        coroutine: CoroutineId(id),
        bins: Bins::USUAL,
        waiting: durations(waits),
        ..Aggregate::default()
    }))
}

fn earlier(id: u32, events: u64) -> Record {
    Record::Earlier(Earlier {
        coroutine: CoroutineId(id),
        events,
    })
}

/// A coroutine with a thousand events, of which the window has the last ten.
fn worker(id: u32, waits: &[u64]) -> Vec<Record> {
    let mut records = vec![birth(id), aggregate(id, waits), earlier(id, 990)];
    for i in 0..5 {
        records.push(event(id, 990 + 2 * i, SECOND + 20 * i, Run));
        records.push(event(id, 991 + 2 * i, SECOND + 20 * i + 10, Suspend));
    }
    records.push(event_counts(id, 1_000, 10));
    records
}

// LT-08
#[test]
fn events_before_the_window_are_in_totals_and_not_lost() {
    let mut trace_model = trace_model(&worker(1, &[40; 499]));
    trace_model.consume(&end(2 * SECOND));
    assert_eq!((trace_model.lost(), trace_model.summed_up()), (0, 990));
    assert_eq!(trace_model.totals().events, 10);
    assert!(!trace_model.is_approximate());
    assert_eq!(trace_model.by_name()[0].waiting, durations(&[40; 499]));
    let site = trace_model.sites().remove(0);
    assert_eq!(site.waits.count(), 4);
    assert!(site.approximate, "of the window only");
}

// LT-08
#[test]
fn events_missing_inside_the_window_are_lost() {
    let mut records = worker(1, &[40; 499]);
    records.retain(|record| !matches!(record, Record::Event(event) if event.n == 995));
    records.pop();
    records.push(event_counts(1, 1_000, 9));
    let mut trace_model = trace_model(&records);
    trace_model.consume(&end(2 * SECOND));
    assert_eq!((trace_model.lost(), trace_model.summed_up()), (1, 990));
    assert!(trace_model.is_approximate());
}

#[test]
fn coroutines_ended_before_the_window_are_in_the_totals() {
    let mut records = worker(1, &[40; 499]);
    records.push(Record::EndedSums(Box::new(EndedSums {
        name: "worker".into(),
        coroutines: 7,
        events: 70,
        bins: Bins::USUAL,
        waiting: durations(&[50; 30]),
        ..EndedSums::default()
    })));
    let trace_model = trace_model(&records);
    let named = trace_model.by_name().remove(0);
    assert_eq!((named.coroutines, named.waiting.count), (8, 529));
    assert_eq!(trace_model.totals().coroutines, 8);
    assert_eq!(trace_model.summed_up(), 990 + 70);
}

/// A trace may state any number of coroutines, up to the largest number.
#[test]
fn full_counters_saturate() {
    let ended_sums = Record::EndedSums(Box::new(EndedSums {
        name: "worker".into(),
        coroutines: u64::MAX,
        ..EndedSums::default()
    }));
    let begins = Record::ThreadEvent(ThreadEvent::default());
    let lost = Record::ThreadEvent(ThreadEvent {
        act: Act::Loss(1),
        ..ThreadEvent::default()
    });
    let spawned = [event(1, 0, 10, Run), event(2, 0, 20, EventKind::Birth)];
    let reported = [ended_sums, begins, birth(1), birth(2)];
    let mut trace_model = trace_model(&[&reported[..], &spawned].concat());
    assert!(
        trace_model
            .get(CoroutineId(2))
            .is_some_and(|trace_model| trace_model.parent.is_some())
    );
    trace_model.consume(&lost);
    assert_eq!(trace_model.by_name()[0].coroutines, u64::MAX);
    assert_eq!(trace_model.totals().coroutines, u64::MAX);
    assert_eq!(trace_model.parents_unknown(), u64::MAX);
}

fn message(trace_model: &TraceModel) -> (Verdict, Reason) {
    let judged = trace_model.judge(Nanos(SECOND))[0].1;
    (judged.verdict, judged.reason)
}

fn verdict(trace_model: &TraceModel) -> Verdict {
    message(trace_model).0
}

#[test]
fn usual_waits_include_those_before_the_window() {
    let of_age = |waits: &[u64]| {
        let mut trace_model = trace_model(&worker(1, waits));
        trace_model.consume(&end(100 * SECOND));
        message(&trace_model)
    };
    let only_coarse = Reason::OnlyCoarse(Level::Coroutine);
    assert_eq!(of_age(&[40; 499]), (Verdict::Waiting, only_coarse));
    let mut waits = [40; 499];
    waits[7] = 60 * SECOND;
    let usual = Reason::Usual(Level::Coroutine);
    assert_eq!(of_age(&waits), (Verdict::Waiting, usual));
}

#[test]
fn a_coroutine_without_events_is_not_judged() {
    let mut trace_model = trace_model(&[
        birth(1),
        aggregate(1, &[40; 9]),
        earlier(1, 20),
        event_counts(1, 20, 0),
    ]);
    trace_model.consume(&event(2, 0, 50 * SECOND, Run));
    trace_model.consume(&end(100 * SECOND));
    assert_eq!(verdict(&trace_model), Verdict::Unknown);
}
