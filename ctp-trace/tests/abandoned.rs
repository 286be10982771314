//! That nobody polls a coroutine but for its own wakes is certain only if all of its polls are known.

mod facts;

use ctp_trace::record::*;
use ctp_trace::verdict::{Fact, Judgement, Reason, Verdict};
use facts::{end, event, event_counts, trace_model};

const SECOND: u64 = 1_000_000_000;

fn begins() -> Record {
    Record::ThreadEvent(ThreadEvent::default())
}

fn lost() -> Record {
    Record::ThreadEvent(ThreadEvent {
        act: Act::Loss(1),
        ..ThreadEvent::default()
    })
}

fn without_wakers(account: Record) -> Record {
    match account {
        Record::EventCounts(event_counts) => Record::EventCounts(EventCounts {
            wakers: Some(0),
            ..event_counts
        }),
        other => other,
    }
}

fn after_wakes(wakes: u16, suspend: Record) -> Record {
    match suspend {
        Record::Event(event) => Record::Event(Event {
            wake_seen: wakes,
            ..event
        }),
        other => other,
    }
}

fn having_refused(refused: u64, end: Record) -> Record {
    match end {
        Record::End(end) => Record::End(End { refused, ..end }),
        other => other,
    }
}

/// One that was woken once and waits without any waker, among other records.
fn judged_without_wakers(others: &[Record]) -> Judgement {
    judged_woken_before(1, others)
}

fn judged_woken_before(wakes: u16, others: &[Record]) -> Judgement {
    judged_woken(wakes, others, 0)
}

fn judged_woken(wakes: u16, others: &[Record], refused: u64) -> Judgement {
    let coroutine = CoroutineId(1);
    let mut records = others.to_vec();
    records.extend([
        Record::Birth(Birth {
            coroutine,
            dialect: Dialect::Extended,
            ..Birth::default()
        }),
        event(1, 0, 0, EventKind::Birth),
        event(1, 1, 1, EventKind::Run),
        event(1, 2, 2, EventKind::Suspend),
        event(1, 3, 4, EventKind::Run),
        after_wakes(wakes, event(1, 4, 5, EventKind::Suspend)),
        Record::Wake(Wake {
            coroutine,
            count: wakes.into(),
            at: Nanos(3),
            ..Wake::default()
        }),
        without_wakers(event_counts(1, 5, 5)),
        having_refused(refused, end(3 * SECOND)),
    ]);
    trace_model(&records).judge(Nanos(SECOND))[0].1
}

// CT-15
#[test]
fn without_wakers_it_is_stuck_if_its_thread_told_all() {
    let judgement = judged_without_wakers(&[begins()]);
    assert_eq!(judgement.verdict, Verdict::Stuck);
    assert_eq!(judgement.reason, Reason::NoWaker);
}

// CT-15
#[test]
fn it_is_likely_where_its_thread_has_no_history() {
    let judgement = judged_without_wakers(&[]);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
    assert_eq!(judgement.reason, Reason::NoWaker);
}

// CT-15
#[test]
fn it_is_likely_where_records_are_lost() {
    let judgement = judged_without_wakers(&[begins(), lost()]);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
}

// CT-15
#[test]
fn it_is_likely_where_it_may_have_been_polled_inside_of_one_that_found_no_room() {
    let judgement = judged_woken(1, &[begins()], 1);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
}

// CT-15
#[test]
fn it_is_polled_by_others_where_it_runs_inside_of_one_that_has_polled_another_before() {
    let born = |id| {
        Record::Birth(Birth {
            coroutine: CoroutineId(id),
            dialect: Dialect::Extended,
            ..Birth::default()
        })
    };
    let outer = [begins(), born(2), event(2, 0, 0, EventKind::Run)];
    let inner = [
        born(3),
        event(3, 0, 0, EventKind::Run),
        event(3, 1, 0, EventKind::Suspend),
    ];
    let verdict = |others: &[Record]| judged_without_wakers(others).verdict;
    assert_ne!(verdict(&[&outer[..], &inner].concat()), Verdict::Stuck);
    assert_eq!(verdict(&[&outer[..1], &inner].concat()), Verdict::Stuck);
}

// CT-15
#[test]
fn it_is_likely_where_a_window_began_after_its_first_poll() {
    let window = |since| {
        Record::Window(Window {
            since: Nanos(since),
            ..Window::default()
        })
    };
    assert_eq!(judged_without_wakers(&[window(0)]).verdict, Verdict::Stuck);
    assert_eq!(
        judged_without_wakers(&[window(2)]).verdict,
        Verdict::MaybeStuck
    );
}

// CT-15
#[test]
fn one_that_runs_without_being_woken_may_do_so_again() {
    let judgement = judged_woken_before(0, &[begins()]);
    assert_eq!(judgement.verdict, Verdict::Waiting);
}

/// One that waits after these events, of which its wake word says so many, the last of them then.
fn judged_woken_at(events: &[Record], count: u32, at: u64) -> Judgement {
    let coroutine = CoroutineId(1);
    let birth = Record::Birth(Birth {
        coroutine,
        dialect: Dialect::Extended,
        ..Birth::default()
    });
    let wake = Record::Wake(Wake {
        coroutine,
        count,
        at: Nanos(at),
        ..Wake::default()
    });
    let had = events.len() as u64;
    let account = [wake, event_counts(1, had, had), end(3 * SECOND)];
    let records = [&[birth], events, &account].concat();
    trace_model(&records).judge(Nanos(SECOND))[0].1
}

// CT-15
#[test]
fn a_wake_that_half_of_the_count_does_not_show_leaves_it_likely() {
    let events = [
        event(1, 0, 0, EventKind::Birth),
        event(1, 1, 1, EventKind::Run),
        event(1, 2, 2, EventKind::Suspend),
        after_wakes(1, event(1, 3, 3, EventKind::Run)),
        after_wakes(1, event(1, 4, 4, EventKind::Suspend)),
    ];
    let woken_at = |at| judged_woken_at(&events, 1 + (1 << 16), at);
    assert!(woken_at(2 * SECOND).close_call);
    assert!(
        !woken_at(4).close_call,
        "it is the one that led to the last run"
    );
}

// CT-15
#[test]
fn wakes_without_number_are_wakes() {
    let events = [
        event(1, 0, 0, EventKind::Birth),
        event(1, 1, 1, EventKind::Run),
        event(1, 2, 2, EventKind::Suspend),
    ];
    let fact = |at| judged_woken_at(&events, 40_000, at).fact;
    assert_eq!(fact(SECOND), Fact::WokenNotRun);
    assert_eq!(fact(1), Fact::Suspended, "read too early");
}
