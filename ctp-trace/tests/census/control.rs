//! Recordings that were stopped, and filters.

use ctp_trace::Census;
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;

use super::{SECOND, birth, deed, read_site};
use crate::facts::{census, end, event};

// LT-10
#[test]
fn a_closing_after_a_stop_may_not_have_been_the_first() {
    let close = Act::Close(Close {
        wait: WaitKind::Readable,
        ..Close::default()
    });
    let waits = event(1, 0, 10, EventKind::Suspend);
    let stopped_before = census(&[stop(5), stop_no_more(7), waits.clone(), deed(20, close)]);
    assert_eq!(stopped_before.closings().len(), 1);
    let stopped_since = census(&[waits, stop(12), stop_no_more(17), deed(20, close)]);
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
    let census = census(&around_filtered_events());
    let one = census.get(CoroutineId(1)).unwrap();
    assert_eq!((one.waits.waited.count, one.waits.ran.count), (0, 2));
    assert_eq!((one.account.lost(), census.lost()), (0, 0));
    assert!(census.broken().is_empty());
    assert_eq!(read_site(&census).waits.count(), 0);
}

fn told(hidden: Option<EventKind>) -> Record {
    Record::Tally(Tally {
        coroutine: CoroutineId(1),
        attempted: 5,
        recorded: 5,
        filtered: 9,
        hidden,
        ..Tally::default()
    })
}

fn judged(last: Record) -> (Vec<Verdict>, Census) {
    let mut census = census(&around_filtered_events());
    census.feed(&last);
    census.feed(&end(2 * SECOND.0));
    let judgements = census.judge(SECOND);
    let verdicts = judgements.iter().map(|(_, it)| it.verdict).collect();
    (verdicts, census)
}

// LT-10
#[test]
fn no_verdict_is_built_on_what_came_before_filtered_events() {
    let (verdicts, census) = judged(told(Some(EventKind::Run)));
    assert_eq!(verdicts, [Verdict::Unknown]);
    assert_eq!(census.totals().filtered, 9);
    assert_eq!(census.lost(), 0);
    let (verdicts, _) = judged(told(Some(EventKind::Death)));
    assert_eq!(verdicts, []);
    let (verdicts, _) = judged(told(None));
    assert_eq!(verdicts, [Verdict::Waiting]);
}

// LT-10
#[test]
fn until_it_is_told_what_was_kept_out_nothing_is_sure_of_a_recording_that_was_stopped() {
    let (verdicts, census) = judged(stop(1500));
    assert_eq!(verdicts, [Verdict::Unknown]);
    let stopped = census.filtering().stopped_until(Nanos(1900));
    assert_eq!(stopped, Nanos(400));
}

/// None of them goes through all coroutines, of which each is a process of its own here.
#[test]
fn a_trace_of_very_many_changes_and_execs_is_read_to_its_end() {
    let mut census = Census::new();
    for id in 1..=100_000 {
        census.feed(&Record::Birth(Birth {
            coroutine: CoroutineId(id),
            process: ProcessId(id),
            ..Birth::default()
        }));
    }
    for id in 1..100_000 {
        census.feed(&stop(id.into()));
        census.damaged();
        census.feed(&Record::ProcessEnd(ProcessEnd {
            process: ProcessId(id),
            how: ProcessEnding::Exec,
            ..ProcessEnd::default()
        }));
    }
    let left = census.coroutines();
    assert_eq!(left.len(), 1);
    assert!(left[0].account.shaken && left[0].id == CoroutineId(100_000));
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
    let census = census(&changes.map(|(change, _)| Record::Control(change)));
    let turns = changes.iter().filter(|(_, is_turn)| *is_turn);
    let turns: Vec<Control> = turns.map(|(change, _)| *change).collect();
    assert_eq!(census.filtering().turns(), turns);
    assert_eq!(census.filtering().changes.len(), changes.len());
}

#[test]
fn of_very_many_changes_it_is_known_how_many_are_forgotten() {
    let changes: Vec<Record> = (1..=5_000)
        .map(|at| match at % 2 {
            0 => stop(at),
            _ => stop_no_more(at),
        })
        .collect();
    let census = census(&changes);
    let filtering = census.filtering();
    let known = filtering.changes.len() as u64;
    assert_eq!(known + filtering.forgotten, 5_000);
    assert_eq!(filtering.turns().last().map(|it| it.at), Some(Nanos(5_000)));
}
