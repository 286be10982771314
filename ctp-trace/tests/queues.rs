//! Ready coroutines: which are queued, and which were passed over.

mod facts;

use ctp_trace::TraceModel;
use ctp_trace::record::EventKind::{Birth as Born, Death, Run, Suspend};
use ctp_trace::record::*;
use ctp_trace::verdict::{Fact, Verdict};
use facts::{end, event, event_counts, trace_model};

const SECOND: Nanos = Nanos(1_000_000_000);

fn birth(id: u32) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        ..Birth::default()
    })
}

fn wake(id: u32, count: u32, at: u64) -> Record {
    Record::Wake(Wake {
        coroutine: CoroutineId(id),
        count,
        at: Nanos(at),
        ..Wake::default()
    })
}

fn call(id: u32, count: u32, at: u64) -> Record {
    let call = WakeCall {
        coroutine: CoroutineId(id),
        count,
        ..WakeCall::default()
    };
    Record::ThreadEvent(ThreadEvent {
        at: Nanos(at),
        act: Act::Wake(call),
        ..ThreadEvent::default()
    })
}

/// Judges the tasks in a queue after five seconds. `length` tasks are born together; each
/// millisecond `next` picks a task, which runs to its end and is replaced by a new task.
fn queue_of(length: u32, next: fn(&mut Vec<u32>) -> u32) -> Vec<(u32, Verdict)> {
    let mut trace_model = TraceModel::new();
    let mut queue: Vec<u32> = (1..=length).collect();
    let born = |trace_model: &mut TraceModel, id, at| {
        trace_model.consume(&birth(id));
        trace_model.consume(&event(id, 0, at, Born));
    };
    (1..=length).for_each(|id| born(&mut trace_model, id, 0));
    for i in 1..5_000 {
        let (task_id, at) = (next(&mut queue), u64::from(i) * 1_000_000);
        trace_model.consume(&event(task_id, 1, at, Run));
        trace_model.consume(&event(task_id, 2, at, Death));
        queue.push(length + i);
        born(&mut trace_model, length + i, at);
    }
    trace_model.consume(&end(5 * SECOND.0));
    let judged = trace_model.judge(SECOND);
    judged
        .iter()
        .map(|(id, judgement)| (id.0, judgement.verdict))
        .collect()
}

/// CT-15
#[test]
fn queued_is_not_stuck_unless_later_coroutines_run() {
    let first_come = queue_of(4_000, |queue| queue.remove(0));
    assert_eq!(first_come.len(), 4_000);
    assert!(
        first_come
            .iter()
            .all(|(_, verdict)| *verdict == Verdict::Waiting)
    );
    let last_come = queue_of(10, |queue| queue.pop().unwrap_or_default());
    let (starved, young) = last_come.split_at(9);
    assert!(
        starved
            .iter()
            .all(|(_, verdict)| *verdict == Verdict::MaybeStuck)
    );
    assert_eq!(young, [(5_009, Verdict::Waiting)]);
}

/// Ten wakes, runs and suspends of coroutine 1, which waits from 9 ms and 10 ns on.
fn ten_short_waits() -> Vec<Record> {
    let mut records = vec![birth(1), event(1, 0, 0, Born)];
    for n in 0..10 {
        let at = u64::from(n) * 1_000_000;
        records.push(wake(1, n, at));
        let run = event(1, 2 * u64::from(n) + 1, at + 5, Run);
        let suspend = event(1, 2 * u64::from(n) + 2, at + 10, Suspend);
        records.extend([run, suspend].map(|record| having_seen(record, n)));
    }
    records
}

/// CT-15
#[test]
fn a_wake_with_a_stale_time_may_be_recent() {
    let verdict = |reported: &[Record]| {
        let mut records = ten_short_waits();
        records.extend([wake(1, 10, 9_000_000)]);
        records.extend_from_slice(reported);
        for n in 0..5 {
            records.push(event(2, 2 * n, n * SECOND.0, Suspend));
            records.push(event(2, 2 * n + 1, n * SECOND.0 + 900, Run));
        }
        records.push(end(5 * SECOND.0));
        trace_model(&records).judge(SECOND)[0].1
    };
    assert_eq!(verdict(&[]).fact, Fact::WokenNotRun);
    assert_eq!(verdict(&[]).verdict, Verdict::Waiting);
    let late = call(1, 10, 5 * SECOND.0 - 1);
    assert_eq!(
        verdict(std::slice::from_ref(&late)).verdict,
        Verdict::Waiting
    );
    let of_the_run_before = call(1, 9, 9_000_020);
    let both = verdict(&[of_the_run_before, late]);
    assert_eq!(both.verdict, Verdict::Waiting);
    let early = call(1, 10, 20_000_000);
    assert_eq!(verdict(&[early]).verdict, Verdict::Stuck);
}

/// CT-15
#[test]
fn repeated_wakes_count_from_the_first() {
    let mut records = ten_short_waits();
    for n in 0..100 {
        let at = 20_000_000 + u64::from(n) * 49_000_000;
        records.extend([call(1, 10 + n, at), wake(1, 10 + n, at)]);
        let (suspend, run) = (u64::from(2 * n), u64::from(2 * n + 1));
        records.push(event(2, suspend, at, Suspend));
        records.push(event(2, run, at + 900, Run));
    }
    records.push(end(5 * SECOND.0));
    let (_, judged) = trace_model(&records).judge(SECOND)[0];
    assert_eq!(
        (judged.fact, judged.verdict),
        (Fact::WokenNotRun, Verdict::MaybeStuck)
    );
}

fn having_seen(record: Record, wakes: u32) -> Record {
    match record {
        Record::Event(event) => Record::Event(Event {
            wake_seen: wakes as u16,
            ..event
        }),
        other => other,
    }
}

/// Events of a coroutine on a thread: the time in milliseconds, the kind, and the wakes seen.
fn on(tid: u64, id: u32, events: &[(u64, EventKind, u32)]) -> Vec<Record> {
    let reported = |(n, &(ms, kind, seen)): (usize, &(u64, EventKind, u32))| {
        let Record::Event(event_on_thread) = event(id, n as u64, ms * 1_000_000, kind) else {
            unreachable!("`event` returns an event")
        };
        having_seen(
            Record::Event(Event {
                tid,
                ..event_on_thread
            }),
            seen,
        )
    };
    events.iter().enumerate().map(reported).collect()
}

/// Judges coroutine 1 after five seconds. It ran nine times on thread 7 and was woken again at one
/// second. `others` are records of other coroutines.
fn woken_after_a_second(by: Waker, others: &[Record]) -> Verdict {
    let mut records = vec![birth(1), wake(1, 0, 0)];
    let mut events = vec![(0, Born, 0)];
    for n in 1..=9 {
        let ms = 10 * u64::from(n);
        records.push(wake(1, n, ms * 1_000_000 - 1));
        events.extend([(ms, Run, n), (ms + 5, Suspend, n)]);
    }
    for (i, record) in on(7, 1, &events).into_iter().enumerate() {
        records.insert(2 + i + i / 2, record); // each after its wake
    }
    let call = WakeCall {
        coroutine: CoroutineId(1),
        count: 10,
        by,
        ..WakeCall::default()
    };
    records.push(wake(1, 10, SECOND.0));
    records.push(Record::ThreadEvent(ThreadEvent {
        at: SECOND,
        tid: 8,
        act: Act::Wake(call),
        ..ThreadEvent::default()
    }));
    records.extend_from_slice(others);
    records.push(end(5 * SECOND.0));
    let judged = trace_model(&records).judge(SECOND);
    judged[0].1.verdict
}

// CT-15
#[test]
fn an_idle_thread_may_still_queue_the_coroutine() {
    let later = |tid, id| {
        on(
            tid,
            id,
            &[(3_000, Suspend, 0), (4_000, Run, 1), (4_001, Suspend, 1)],
        )
    };
    let here = later(7, 2);
    let both = [later(7, 2), later(8, 3)].concat();
    let from_outside = |others: &[Record]| woken_after_a_second(Waker::Thread(8), others);
    assert_eq!(from_outside(&here), Verdict::Stuck);
    assert_eq!(from_outside(&later(9, 2)), Verdict::MaybeStuck);
    let from_inside =
        |others: &[Record]| woken_after_a_second(Waker::Coroutine(CoroutineId(3)), others);
    assert_eq!(from_inside(&here), Verdict::MaybeStuck);
    assert_eq!(from_inside(&both), Verdict::Stuck);
}

// CT-15
#[test]
fn an_overtaker_with_several_wakes_was_ready_before() {
    let ran_after = |wakes: u32| {
        let mut records = on(7, 2, &[(900, Suspend, 0)]);
        records.extend((1..=wakes).map(|n| wake(2, n, u64::from(n) * SECOND.0 - 5)));
        let run = on(
            7,
            2,
            &[
                (900, Suspend, 0),
                (3_500, Run, wakes),
                (3_501, Suspend, wakes),
            ],
        );
        records.extend_from_slice(&run[1..]);
        woken_after_a_second(Waker::Thread(8), &records)
    };
    assert_eq!(ran_after(3), Verdict::Waiting);
    let mut records = on(7, 2, &[(900, Suspend, 0)]);
    records.push(wake(2, 1, 3 * SECOND.0));
    let run = on(
        7,
        2,
        &[(900, Suspend, 0), (3_500, Run, 1), (3_501, Suspend, 1)],
    );
    records.extend_from_slice(&run[1..]);
    assert_eq!(
        woken_after_a_second(Waker::Thread(8), &records),
        Verdict::Stuck
    );
}

// CT-15
#[test]
fn woken_while_no_coroutine_runs_is_likely_stuck() {
    let verdict = |others: &[Record]| woken_after_a_second(Waker::Thread(8), others);
    assert_eq!(verdict(&[]), Verdict::MaybeStuck);
    let waits = on(9, 2, &[(900, Run, 0), (1_100, Suspend, 0)]);
    assert_eq!(verdict(&waits), Verdict::MaybeStuck);
    let runs = on(9, 2, &[(900, Run, 0)]);
    assert_eq!(verdict(&runs), Verdict::Waiting, "a busy thread may queue");
    let late = on(9, 2, &[(900, Run, 0), (4_500, Suspend, 0)]);
    assert_eq!(verdict(&late), Verdict::Waiting, "the run ended recently");
    let lost = on(9, 2, &[(900, Run, 0), (1_100, Suspend, 0)]);
    let gap = event_counts(2, 3, 3);
    assert_eq!(verdict(&[lost, vec![gap]].concat()), Verdict::Waiting);
    let blocked = [runs.clone(), blocked_in(9, "futex")].concat();
    assert_eq!(verdict(&blocked), Verdict::MaybeStuck, "in a lock");
    let sleeps = [runs, blocked_in(9, "clock_nanosleep")].concat();
    assert_eq!(verdict(&sleeps), Verdict::Waiting, "may continue");
}

/// Two inspections found this thread in the same call since two seconds.
fn blocked_in(tid: u32, call: &str) -> Vec<Record> {
    let inspection = |at: u64, threads: Vec<InspectedThread>| {
        let begin = Record::Inspection(Inspection {
            at: Nanos(at * SECOND.0),
            only_threads: true,
            ..Inspection::default()
        });
        let end = Record::InspectionEnd(InspectionEnd {
            at: Nanos(at * SECOND.0),
            ..InspectionEnd::default()
        });
        let threads = threads.into_iter().map(Record::InspectedThread);
        [begin].into_iter().chain(threads).chain([end])
    };
    let thread = InspectedThread {
        tid,
        syscall: Some(202),
        call: call.to_owned(),
        ..InspectedThread::default()
    };
    inspection(2, vec![thread])
        .chain(inspection(3, Vec::new()))
        .collect()
}
