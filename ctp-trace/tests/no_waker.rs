//! A suspended coroutine without wakers is certainly stuck only if the trace has all of its polls:
//! otherwise another coroutine may poll it for reasons of its own.

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

/// Judges a coroutine that was woken once and waits without any waker. `others` come first.
fn judged_without_wakers(others: &[Record]) -> Judgement {
    judged_after_wakes(1, others)
}

fn judged_after_wakes(wakes: u16, others: &[Record]) -> Judgement {
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
fn no_waker_is_stuck_if_all_polls_are_known() {
    let judgement = judged_without_wakers(&[begins()]);
    assert_eq!(judgement.verdict, Verdict::Stuck);
    assert_eq!(judgement.reason, Reason::NoWaker);
}

// CT-15
#[test]
fn no_waker_is_likely_without_thread_history() {
    let judgement = judged_without_wakers(&[]);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
    assert_eq!(judgement.reason, Reason::NoWaker);
}

// CT-15
#[test]
fn no_waker_is_likely_if_records_are_lost() {
    let judgement = judged_without_wakers(&[begins(), lost()]);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
}

// CT-15
#[test]
fn no_waker_is_likely_if_a_coroutine_was_refused() {
    let judgement = judged_woken(1, &[begins()], 1);
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
}

// CT-15
#[test]
fn an_outer_coroutine_that_polled_before_may_poll_again() {
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
fn no_waker_is_likely_if_the_window_misses_a_poll() {
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
fn an_unwoken_run_may_happen_again() {
    let judgement = judged_after_wakes(0, &[begins()]);
    assert_eq!(judgement.verdict, Verdict::Waiting);
}

/// Judges a coroutine with these events and a wake word of this count and time.
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
    let count = events.len() as u64;
    let account = [wake, event_counts(1, count, count), end(3 * SECOND)];
    let records = [&[birth], events, &account].concat();
    trace_model(&records).judge(Nanos(SECOND))[0].1
}

// CT-15
#[test]
fn a_wake_hidden_by_a_wrapped_counter_is_a_close_call() {
    let events = [
        event(1, 0, 0, EventKind::Birth),
        event(1, 1, 1, EventKind::Run),
        event(1, 2, 2, EventKind::Suspend),
        after_wakes(1, event(1, 3, 3, EventKind::Run)),
        after_wakes(1, event(1, 4, 4, EventKind::Suspend)),
    ];
    let woken_at = |at| judged_woken_at(&events, 1 + (1 << 16), at);
    assert!(woken_at(2 * SECOND).close_call);
    assert!(!woken_at(4).close_call, "the wake led to the last run");
}

// CT-15
#[test]
fn very_many_wakes_are_recognized() {
    let events = [
        event(1, 0, 0, EventKind::Birth),
        event(1, 1, 1, EventKind::Run),
        event(1, 2, 2, EventKind::Suspend),
    ];
    let fact = |at| judged_woken_at(&events, 40_000, at).fact;
    assert_eq!(fact(SECOND), Fact::WokenNotRun);
    assert_eq!(fact(1), Fact::Suspended, "read too early");
}
