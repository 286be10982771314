//! Stopped recordings and filters.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;

use super::{SECOND, birth, read_site, thread_event};
use crate::facts::{end, event, trace_model};

// LT-10
#[test]
fn a_close_after_a_stop_may_not_be_the_first() {
    let close = Act::Close(Close {
        wait: WaitKind::Readable,
        ..Close::default()
    });
    let waits = event(1, 0, 10, EventKind::Suspend);
    let stopped_before = trace_model(&[stop(5), resume(7), waits.clone(), thread_event(20, close)]);
    assert_eq!(stopped_before.closings().len(), 1);
    let stopped_since = trace_model(&[waits, stop(12), resume(17), thread_event(20, close)]);
    assert_eq!(stopped_since.closings().len(), 0);
}

fn resume(at: u64) -> Record {
    Record::Control(Control {
        at: Nanos(at),
        ..Control::default()
    })
}

fn after_filtered(record: Record) -> Record {
    match record {
        Record::Event(event) => Record::Event(Event {
            after_filtered: true,
            ..event
        }),
        other => other,
    }
}

fn stop(at: u64) -> Record {
    Record::Control(Control {
        at: Nanos(at),
        stopped: true,
        ..Control::default()
    })
}

/// The coroutine waits from 200 on, runs at 900 after filtered events, and waits again from 1000 on.
fn around_filtered_events() -> [Record; 6] {
    use EventKind::{Birth, Run, Suspend};
    [
        birth(1),
        event(1, 0, 100, Birth),
        event(1, 1, 150, Run),
        event(1, 2, 200, Suspend),
        after_filtered(event(1, 4, 900, Run)),
        event(1, 5, 1000, Suspend),
    ]
}

// LT-11
#[test]
fn filtered_events_are_no_loss_and_bound_no_wait() {
    let trace_model = trace_model(&around_filtered_events());
    let coroutine = trace_model.get(CoroutineId(1)).unwrap();
    assert_eq!(
        (coroutine.waits.waited.count, coroutine.waits.ran.count),
        (0, 2)
    );
    assert_eq!((coroutine.account.lost(), trace_model.lost()), (0, 0));
    assert!(trace_model.broken().is_empty());
    assert_eq!(read_site(&trace_model).waits.count(), 0);
}

fn reported(hidden: Option<EventKind>) -> Record {
    Record::EventCounts(EventCounts {
        coroutine: CoroutineId(1),
        attempted: 5,
        recorded: 5,
        filtered: 9,
        hidden,
        ..EventCounts::default()
    })
}

fn judged(last: Record) -> (Vec<Verdict>, TraceModel) {
    let mut trace_model = trace_model(&around_filtered_events());
    trace_model.consume(&last);
    trace_model.consume(&end(2 * SECOND.0));
    let judgements = trace_model.judge(SECOND);
    let verdicts = judgements
        .iter()
        .map(|(_, judgement)| judgement.verdict)
        .collect();
    (verdicts, trace_model)
}

// LT-10
#[test]
fn no_verdict_uses_a_state_before_filtered_events() {
    let (verdicts, trace_model) = judged(reported(Some(EventKind::Run)));
    assert_eq!(verdicts, [Verdict::Unknown]);
    assert_eq!(trace_model.totals().filtered, 9);
    assert_eq!(trace_model.lost(), 0);
    let (verdicts, _) = judged(reported(Some(EventKind::Death)));
    assert_eq!(verdicts, []);
    let (verdicts, _) = judged(reported(None));
    assert_eq!(verdicts, [Verdict::Waiting]);
}

// LT-10
#[test]
fn a_stop_without_final_counts_leaves_states_unknown() {
    let (verdicts, trace_model) = judged(stop(1500));
    assert_eq!(verdicts, [Verdict::Unknown]);
    let stopped = trace_model.filtering().stopped_until(Nanos(1900));
    assert_eq!(stopped, Nanos(400));
}

/// No change, damage or exec may visit all coroutines: with 100,000 processes of a single coroutine
/// each, that would take quadratic time.
#[test]
fn many_control_changes_and_execs_stay_fast() {
    let mut trace_model = TraceModel::new();
    for id in 1..=100_000 {
        trace_model.consume(&Record::Birth(Birth {
            coroutine: CoroutineId(id),
            process: ProcessId(id),
            ..Birth::default()
        }));
    }
    for id in 1..100_000 {
        trace_model.consume(&stop(id.into()));
        trace_model.note_damage();
        trace_model.consume(&Record::ProcessEnd(ProcessEnd {
            process: ProcessId(id),
            how: ProcessExit::Exec,
            ..ProcessEnd::default()
        }));
    }
    let left = trace_model.coroutines();
    assert_eq!(left.len(), 1);
    assert!(left[0].account.uncertain && left[0].id == CoroutineId(100_000));
}

/// Changes of two processes, and of all processes (pid 0).
#[test]
fn a_command_without_effect_is_no_turn() {
    let change = |at, pid, stopped, only_thread| Control {
        at: Nanos(at),
        pid,
        stopped,
        only_thread,
        ..Control::default()
    };
    let changes = [
        (change(1, 0, false, 0), false),
        (change(2, 7, true, 0), true),
        (change(3, 7, true, 5), false),
        (change(4, 8, false, 0), false),
        (change(5, 0, true, 0), true),
        (change(6, 0, true, 0), false),
        (change(7, 7, true, 0), false),
        (change(8, 7, false, 0), true),
        (change(9, 0, true, 0), true),
        (change(10, 0, false, 5), true),
        (change(11, 8, false, 5), false),
        (change(12, 0, false, 0), true),
    ];
    let trace_model = trace_model(&changes.map(|(change, _)| Record::Control(change)));
    let turns = changes.iter().filter(|(_, is_turn)| *is_turn);
    let turns: Vec<Control> = turns.map(|(change, _)| *change).collect();
    assert_eq!(trace_model.filtering().turns(), turns);
    assert_eq!(trace_model.filtering().changes.len(), changes.len());
}

#[test]
fn forgotten_control_changes_are_counted() {
    let changes: Vec<Record> = (1..=5_000)
        .map(|at| match at % 2 {
            0 => stop(at),
            _ => resume(at),
        })
        .collect();
    let trace_model = trace_model(&changes);
    let filtering = trace_model.filtering();
    let known = filtering.changes.len() as u64;
    assert_eq!(known + filtering.forgotten, 5_000);
    assert_eq!(
        filtering.turns().last().map(|turn| turn.at),
        Some(Nanos(5_000))
    );
}
