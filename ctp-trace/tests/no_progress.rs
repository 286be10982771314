//! A process in which no coroutine runs and no thread can continue by itself makes no progress.

mod facts;

use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;
use facts::{READ, end, event, event_counts, trace_model};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
const PROCESS: ProcessId = ProcessId(1);

fn observed(at: u64, sleeping: u64, others: u64) -> Record {
    Record::Threads(Threads {
        process: PROCESS,
        at: Nanos(at),
        parked: 3,
        sleeping,
        others,
    })
}

/// A coroutine that ran this often, every hundredth of a second, and then waits.
fn waits(id: u32, runs: u64, wait: WaitKind, marks: WaitMarks) -> Vec<Record> {
    let mut records = vec![Record::Birth(Birth {
        coroutine: CoroutineId(id),
        process: PROCESS,
        dialect: Dialect::Extended,
        ..Birth::default()
    })];
    for run in 0..runs {
        let at = run * SECOND / 100;
        records.push(event(id, 2 * run, at + 1, EventKind::Run));
        let mut suspend = event(id, 2 * run + 1, at + 2, EventKind::Suspend);
        if let Record::Event(suspend) = &mut suspend {
            // Each wait is at a site of its own, so that there is nothing to compare.
            suspend.site = SiteId(READ.0 + run as u32);
            (suspend.wait, suspend.marks) = (wait, marks);
        }
        records.push(suspend);
    }
    records.push(event_counts(id, 2 * runs, 2 * runs));
    records
}

fn hangs(runs: u64) -> Vec<Record> {
    waits(1, runs, WaitKind::Unknown, WaitMarks::default())
}

fn judged(parts: &[&[Record]]) -> Vec<&'static str> {
    let judged = trace_model(&parts.concat())
        .judge(Nanos(SECOND))
        .into_iter();
    judged
        .map(|(_, judgement)| judgement.reason.word())
        .collect()
}

// CT-15
#[test]
fn a_process_of_parked_threads_makes_no_progress() {
    let records = [
        hangs(1),
        vec![
            observed(2 * SECOND, 0, 0),
            observed(4 * SECOND, 0, 0),
            end(5 * SECOND),
        ],
    ];
    let model = trace_model(&records.concat());
    let judgement = model.judge(Nanos(SECOND))[0].1;
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
    assert_eq!(judgement.reason.word(), "no-progress");
}

// CT-15
#[test]
fn what_may_continue_makes_no_verdict() {
    let quiet = [observed(2 * SECOND, 0, 0), observed(4 * SECOND, 0, 0)];
    let now = [end(5 * SECOND)];
    let hangs = hangs(1);
    assert_eq!(judged(&[&hangs, &now]), ["no-past"], "not observed");
    assert_eq!(
        judged(&[&hangs, &quiet[..1], &now]),
        ["no-past"],
        "observed once"
    );
    assert_eq!(
        judged(&[&hangs, &quiet, &[end(20 * SECOND)]]),
        ["no-past"],
        "long ago"
    );
    let runs = [observed(4 * SECOND + 1, 0, 1)];
    assert_eq!(
        judged(&[&hangs, &quiet, &runs, &now]),
        ["no-past"],
        "a thread runs"
    );
    let timer = waits(2, 1, WaitKind::Timer, WaitMarks::default());
    assert_eq!(judged(&[&hangs, &timer, &quiet, &now])[0], "no-past");
    let idle = WaitMarks {
        idle: true,
        ..WaitMarks::default()
    };
    let idle = waits(2, 1, WaitKind::Unknown, idle);
    assert_eq!(judged(&[&hangs, &idle, &quiet, &now]), ["no-past", "idle"]);
}

// CT-15
#[test]
fn a_coroutine_that_no_thread_runs_is_no_progress() {
    let born = |at| {
        [Record::Birth(Birth {
            coroutine: CoroutineId(2),
            process: PROCESS,
            at: Nanos(at),
            ..Birth::default()
        })]
    };
    let reason = |born_at, sleeping| {
        let threads = [2, 4].map(|second| observed(second * SECOND, sleeping, 0));
        let now = [end(5 * SECOND)];
        judged(&[&hangs(1), &born(born_at), &threads, &now])[0]
    };
    assert_eq!(reason(3 * SECOND, 0), "no-past", "may be queued");
    assert_eq!(reason(SECOND, 1), "no-past", "a thread may poll it");
    assert_eq!(reason(SECOND, 0), "no-progress");
}

// CT-15
#[test]
fn threads_run_when_their_process_ends() {
    let seen = |last| {
        let threads = [2, 4].map(|second| observed(second * SECOND, 0, 0));
        let runs = [observed(last, 0, 1), end(5 * SECOND)];
        judged(&[&hangs(1), &threads, &runs])[0]
    };
    assert_eq!(seen(5 * SECOND - 1), "no-progress");
    assert_eq!(seen(5 * SECOND + 1), "no-progress");
    assert_eq!(seen(5 * SECOND - SECOND / 5), "no-past");
}

// CT-15
#[test]
fn a_sleeping_thread_may_continue_unless_silence_is_unheard_of() {
    let sleeps = [
        observed(4 * SECOND, 1, 0),
        observed(6 * SECOND, 1, 0),
        end(8 * SECOND),
    ];
    let others = with_other(WaitMarks::default());
    assert_eq!(judged(&[&hangs(1), &others, &sleeps])[0], "no-past");
    assert_eq!(judged(&[&hangs(100), &others, &sleeps])[0], "no-progress");
}

/// Another coroutine, which has woken the first and waits now.
fn with_other(marks: WaitMarks) -> Vec<Record> {
    let mut records = waits(2, 1, WaitKind::Unknown, marks);
    records.push(Record::Wake(Wake {
        coroutine: CoroutineId(2),
        ..Wake::default()
    }));
    records.push(Record::ThreadEvent(ThreadEvent {
        process: PROCESS,
        at: Nanos(2),
        act: Act::Wake(WakeCall {
            coroutine: CoroutineId(1),
            count: 1,
            by: Waker::Coroutine(CoroutineId(2)),
            site: SiteId(0),
        }),
        ..ThreadEvent::default()
    }));
    records
}

// CT-15
#[test]
fn a_sleeping_thread_may_give_work_after_the_load_is_over() {
    let sleeps = [
        observed(4 * SECOND, 1, 0),
        observed(6 * SECOND, 1, 0),
        end(8 * SECOND),
    ];
    let hangs = hangs(100);
    assert_eq!(judged(&[&hangs, &sleeps]), ["only-coarse"], "woken by none");
    let other = with_other(WaitMarks::default());
    let ended = [
        event(2, 2, 3, EventKind::Run),
        event(2, 3, 4, EventKind::Death),
    ];
    assert_eq!(judged(&[&hangs, &other, &ended, &sleeps]), ["only-coarse"]);
    let in_pending = with_other(WaitMarks {
        wakers: PollWakers::Unregistered,
        ..WaitMarks::default()
    });
    assert_eq!(judged(&[&hangs, &in_pending, &sleeps])[0], "only-coarse");
}

fn leaf(runs: u32, kind: LeafKind) -> Record {
    let site = SiteId(READ.0 + runs - 1);
    Record::Leaf(Leaf {
        site,
        kind,
        ..Leaf::default()
    })
}

// CT-15
#[test]
fn a_thread_that_gave_messages_may_give_more() {
    let sleeps = [
        observed(4 * SECOND, 1, 0),
        observed(6 * SECOND, 1, 0),
        end(8 * SECOND),
    ];
    let others = with_other(WaitMarks::default());
    let word = |kind| judged(&[&hangs(100), &others, &[leaf(100, kind)], &sleeps])[0];
    assert_eq!(word(LeafKind::Message), "only-coarse");
    assert_eq!(word(LeafKind::Reply), "no-progress");
}

// CT-15
#[test]
fn a_sleeping_thread_gives_no_locks() {
    let sleeps = [
        observed(4 * SECOND, 1, 0),
        observed(6 * SECOND, 1, 0),
        end(8 * SECOND),
    ];
    let waits_for = |kind| {
        let other = with_other(WaitMarks::default());
        judged(&[
            &hangs(2),
            &other,
            &[leaf(2, LeafKind::Lock), leaf(1, kind)],
            &sleeps,
        ])
    };
    for kind in [LeafKind::Lock, LeafKind::Task] {
        assert_eq!(waits_for(kind)[0], "no-progress", "{kind:?}");
    }
    for kind in [LeafKind::Message, LeafKind::Timer, LeafKind::Unknown] {
        assert_eq!(waits_for(kind)[0], "no-past", "{kind:?}");
    }
}

// CT-15
#[test]
fn a_sleeping_thread_that_acted_late_may_act_again() {
    let sleeps = [
        observed(4 * SECOND, 1, 0),
        observed(6 * SECOND, 1, 0),
        end(8 * SECOND),
    ];
    let act = |tid: u32| {
        Record::ThreadEvent(ThreadEvent {
            process: PROCESS,
            tid: tid.into(),
            at: Nanos(SECOND),
            act: Act::Wake(WakeCall {
                coroutine: CoroutineId(1),
                count: 1,
                by: Waker::Thread(tid),
                site: SiteId(0),
            }),
        })
    };
    let hangs = hangs(100);
    assert_eq!(judged(&[&hangs, &[act(4711)], &sleeps]), ["only-coarse"]);
    let born = [Record::Birth(Birth {
        coroutine: CoroutineId(2),
        process: PROCESS,
        at: Nanos(SECOND),
        ..Birth::default()
    })];
    let ended = [event(2, 0, SECOND + 1, EventKind::Death)];
    assert_eq!(judged(&[&hangs, &born, &ended, &sleeps]), ["only-coarse"]);
}

// CT-15
#[test]
fn a_thread_that_is_blocked_in_a_run_makes_no_progress() {
    let sleeps = [
        observed(4 * SECOND, 1, 0),
        observed(6 * SECOND, 1, 0),
        end(8 * SECOND),
    ];
    let mut runs = waits(2, 1, WaitKind::Unknown, WaitMarks::default());
    runs.truncate(2);
    let parts = [hangs(100), runs, blocked_in("futex")].concat();
    assert_eq!(judged(&[&parts, &sleeps])[0], "no-progress");
    let parts = [&parts[..], &blocked_in("read")].concat();
    assert_eq!(judged(&[&parts, &sleeps])[0], "only-coarse");
}

/// Two inspections find the only thread that runs coroutines in this call.
fn blocked_in(call: &str) -> Vec<Record> {
    let inspection = |at: u64| {
        let begin = Record::Inspection(Inspection {
            process: PROCESS,
            at: Nanos(at * SECOND),
            only_threads: true,
            ..Inspection::default()
        });
        let thread = Record::InspectedThread(InspectedThread {
            process: PROCESS,
            syscall: Some(1),
            call: call.to_owned(),
            ..InspectedThread::default()
        });
        let end = Record::InspectionEnd(InspectionEnd {
            process: PROCESS,
            at: Nanos(at * SECOND),
            ..InspectionEnd::default()
        });
        [begin, thread, end]
    };
    [inspection(2), inspection(3)].concat()
}

proptest! {
    // CT-15
    #[test]
    fn a_run_after_the_observations_is_progress(at in 4 * SECOND + 1..9 * SECOND) {
        let quiet = [observed(2 * SECOND, 0, 0), observed(4 * SECOND, 0, 0)];
        let run = [
            event(1, 2, at, EventKind::Run),
            event(1, 3, at + 1, EventKind::Suspend),
            event_counts(1, 4, 4),
            end(10 * SECOND),
        ];
        let before = hangs(1);
        let reasons = judged(&[&before[..before.len() - 1], &quiet, &run]);
        prop_assert!(reasons != ["no-progress"], "{:?}", reasons);
    }
}
