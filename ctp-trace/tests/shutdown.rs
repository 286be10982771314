//! Coroutines that are dropped together at the end of their process are judged as of just before.

mod facts;

use ctp_trace::model::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{Reason, Verdict};
use facts::{end, event, event_counts, trace_model};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn born(id: u32) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        process: ProcessId(1),
        dialect: Dialect::Extended,
        ..Birth::default()
    })
}

fn suspend(id: u32, n: u64, at: u64, fd: u64) -> Record {
    match event(id, n, at, EventKind::Suspend) {
        Record::Event(event) => Record::Event(Event {
            wait: WaitKind::Readable,
            arg: fd,
            ..event
        }),
        other => other,
    }
}

fn thread_event(at: u64, act: Act) -> Record {
    Record::ThreadEvent(ThreadEvent {
        process: ProcessId(1),
        at: Nanos(at),
        act,
        ..ThreadEvent::default()
    })
}

fn close(at: u64, fd: u64) -> Record {
    thread_event(
        at,
        Act::Close(Close {
            wait: WaitKind::Readable,
            arg: fd,
            ..Close::default()
        }),
    )
}

fn wake_word(id: u32, count: u32, at: u64) -> Record {
    Record::Wake(Wake {
        coroutine: CoroutineId(id),
        count,
        at: Nanos(at),
        ..Wake::default()
    })
}

/// The program exits.
fn exits(at: u64) -> Record {
    match end(at) {
        Record::End(end) => Record::End(End {
            how: ExitReason::Exited(0),
            ..end
        }),
        other => other,
    }
}

/// A reader of a descriptor, from its birth to its wait.
fn reader(id: u32, fd: u64) -> [Record; 5] {
    [
        born(id),
        event(id, 0, 1, EventKind::Birth),
        event(id, 1, 2, EventKind::Run),
        suspend(id, 2, 3, fd),
        wake_word(id, 0, 0),
    ]
}

/// The drop of a coroutine that waits, which wakes it.
fn dropped(id: u32, at: u64) -> [Record; 3] {
    [
        wake_word(id, 1, at),
        event(id, 3, at, EventKind::Death),
        event_counts(id, 4, 4),
    ]
}

/// The model of the records, as of just before the drops at the end. A model that branches off a model of all records
/// comes to the same verdicts.
fn before(records: &[Record]) -> TraceModel {
    let mut before = TraceModel::before(trace_model(records).shutdowns());
    for record in records {
        before.consume(record);
    }
    let branch = branch_before(records);
    let verdicts = [&before, &branch].map(|model| format!("{:?}", model.judge(Nanos(SECOND))));
    assert_eq!(verdicts[0], verdicts[1]);
    assert_eq!(before.lost(), branch.lost());
    assert_eq!(before.totals().events, branch.totals().events);
    before
}

/// The same model, made from a model of all records once a record concerns the drops.
fn branch_before(records: &[Record]) -> TraceModel {
    let shutdowns = trace_model(records).shutdowns();
    let (mut whole, mut branch) = (TraceModel::new(), None::<TraceModel>);
    for record in records {
        if branch.is_none() && shutdowns.concern(record) {
            branch = Some(whole.branch_before(shutdowns.clone()));
        }
        if let Some(branch) = &mut branch {
            branch.consume(record);
        }
        whole.consume(record);
    }
    branch.unwrap_or(whole)
}

fn judged(records: &[Record]) -> Vec<(u32, Verdict, &'static str)> {
    let judged = before(records).judge(Nanos(SECOND)).into_iter();
    judged
        .map(|(id, judgement)| (id.0, judgement.verdict, judgement.reason.word()))
        .collect()
}

/// Two readers, of which the first is not resumed though its descriptor was closed.
fn lost_reader() -> Vec<Record> {
    [
        vec![thread_event(0, Act::Begin)],
        reader(1, 7).to_vec(),
        reader(2, 8).to_vec(),
        vec![close(SECOND, 7)],
    ]
    .concat()
}

// CT-15
#[test]
fn drops_at_the_end_hide_no_lost_wakeup() {
    let drops = [dropped(1, 4 * SECOND), dropped(2, 4 * SECOND + 5)].concat();
    let records = [lost_reader(), drops, vec![exits(4 * SECOND + 9)]].concat();
    assert!(trace_model(&records).judge(Nanos(SECOND)).is_empty());
    let expected = [
        (1, Verdict::Stuck, "closed"),
        (2, Verdict::Waiting, "no-past"),
    ];
    assert_eq!(judged(&records), expected);
    assert_eq!(before(&records).lost(), 0);
    let judgement = before(&records).judge(Nanos(SECOND))[0].1;
    assert!(matches!(
        judgement.reason,
        Reason::Closed { caveat: None, .. }
    ));
}

// CT-15
#[test]
fn what_drops_close_counts_as_later() {
    let drops = [
        vec![close(4 * SECOND - 9, 8)],
        vec![
            wake_word(1, 1, 4 * SECOND),
            event(1, 3, 4 * SECOND, EventKind::Death),
        ],
        vec![event_counts(1, 4, 4)],
        dropped(2, 4 * SECOND + 2).to_vec(),
    ]
    .concat();
    let records = [lost_reader(), drops, vec![exits(4 * SECOND + 9)]].concat();
    assert_eq!(judged(&records)[1], (2, Verdict::Waiting, "no-past"));
}

// CT-16
#[test]
fn cancelled_coroutines_of_a_program_that_goes_on_are_over() {
    let another = [born(3), event(3, 0, 1, EventKind::Birth)];
    let runs = [
        event(3, 1, 5 * SECOND, EventKind::Run),
        suspend(3, 2, 5 * SECOND + 1, 9),
    ];
    let drops = [dropped(1, 4 * SECOND), dropped(2, 4 * SECOND + 5)].concat();
    let records = [
        lost_reader(),
        another.to_vec(),
        drops,
        runs.to_vec(),
        vec![event_counts(3, 3, 3), exits(6 * SECOND)],
    ]
    .concat();
    let ids: Vec<u32> = judged(&records).iter().map(|(id, ..)| *id).collect();
    assert_eq!(ids, [3]);
}

// CT-16
#[test]
fn drops_by_a_coroutine_that_goes_on_are_no_end() {
    let canceller = [
        born(3),
        event(3, 0, 1, EventKind::Birth),
        event(3, 1, 4 * SECOND - 1, EventKind::Run),
    ];
    let records = [
        lost_reader(),
        canceller.to_vec(),
        [dropped(1, 4 * SECOND), dropped(2, 4 * SECOND)].concat(),
        vec![
            suspend(3, 2, 4 * SECOND + 1, 9),
            event_counts(3, 3, 3),
            exits(4 * SECOND + 2),
        ],
    ]
    .concat();
    assert!(trace_model(&records).shutdowns().is_empty());
}

// CT-16
#[test]
fn a_cancelled_coroutine_of_an_idle_program_is_over() {
    let records = [
        lost_reader(),
        dropped(1, 4 * SECOND).to_vec(),
        vec![event_counts(2, 3, 3), exits(60 * SECOND)],
    ]
    .concat();
    let ids: Vec<u32> = judged(&records).iter().map(|(id, ..)| *id).collect();
    assert_eq!(ids, [2]);
}

proptest! {
    // CT-15
    #[test]
    fn a_tidy_end_is_judged_like_a_sudden_end(
        closed in prop::collection::vec(prop::option::of(3..3 * SECOND), 1..6),
        gap in 0..1_000u64,
    ) {
        let ids = 1..=closed.len() as u32;
        let mut records = vec![thread_event(0, Act::Begin)];
        records.extend(ids.clone().flat_map(|id| reader(id, id.into())));
        let mut closings: Vec<_> = ids.clone().zip(&closed).filter_map(|(id, at)| Some((at.as_ref()?, id))).collect();
        closings.sort_unstable();
        records.extend(closings.into_iter().map(|(at, id)| close(*at, id.into())));
        let at = 4 * SECOND;
        let drops = ids.clone().flat_map(|id| dropped(id, at + u64::from(id - 1) * gap));
        let tidy: Vec<_> = records.iter().cloned().chain(drops).chain([exits(at + SECOND / 2)]).collect();
        let counts = ids.map(|id| event_counts(id, 3, 3));
        let just_before = exits(at - SECOND / 100);
        let sudden: Vec<_> = records.iter().cloned().chain(counts).chain([just_before]).collect();
        prop_assert_eq!(before(&tidy).judge(Nanos(SECOND)), trace_model(&sudden).judge(Nanos(SECOND)));
    }
}
