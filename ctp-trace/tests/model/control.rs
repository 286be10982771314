//! Recordings that were stopped, and filters.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;

use super::{SECOND, birth, read_site, thread_event};
use crate::facts::{end, event, trace_model};

// LT-10
#[test]
fn a_closing_after_a_stop_may_not_have_been_the_first() {
    let close = Act::Close(Close {
        wait: WaitKind::Readable,
        ..Close::default()
    });
    let waits = event(1, 0, 10, EventKind::Suspend);
    let stopped_before = trace_model(&[
        stop(5),
        stop_no_more(7),
        waits.clone(),
        thread_event(20, close),
    ]);
    assert_eq!(stopped_before.closings().len(), 1);
    let stopped_since = trace_model(&[waits, stop(12), stop_no_more(17), thread_event(20, close)]);
    assert_eq!(stopped_since.closings().len(), 0);
}

fn stop_no_more(at: u64) -> Record {
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

/// It waits from 200 on, is seen to run at 900, and waits again from 1000 on.
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
fn what_a_filter_kept_out_is_no_loss_and_bounds_no_wait() {
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
fn no_verdict_is_built_on_what_came_before_filtered_events() {
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
fn until_it_is_told_what_was_kept_out_nothing_is_sure_of_a_recording_that_was_stopped() {
    let (verdicts, trace_model) = judged(stop(1500));
    assert_eq!(verdicts, [Verdict::Unknown]);
    let stopped = trace_model.filtering().stopped_until(Nanos(1900));
    assert_eq!(stopped, Nanos(400));
}

/// None of them goes through all coroutines, of which each is a process of its own here.
#[test]
fn a_trace_of_very_many_changes_and_execs_is_read_to_its_end() {
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
        trace_model.damaged();
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

/// Changes of one process, of another, and of all.
#[test]
fn a_command_that_makes_no_difference_is_no_turn() {
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
fn of_very_many_changes_it_is_known_how_many_are_forgotten() {
    let changes: Vec<Record> = (1..=5_000)
        .map(|at| match at % 2 {
            0 => stop(at),
            _ => stop_no_more(at),
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
