//! Gaps of traces in which no coroutine looks stuck.

use ctp_trace::TraceModel;
use ctp_trace::model::{Gap, gaps};
use ctp_trace::record::*;

use super::{SECOND, birth, thread_event};
use crate::facts::{event, event_counts, trace_model};

/// A coroutine that has waited for `ns` and does not look stuck, with further records.
fn waiting_for(ns: u64, more: impl IntoIterator<Item = Record>, end: End) -> TraceModel {
    let mut records = vec![birth(1), event(1, 0, 10, EventKind::Suspend)];
    records.extend(more);
    let events = records
        .iter()
        .filter(|record| matches!(record, Record::Event(_)));
    let events = events.count() as u64;
    records.push(event_counts(1, events, events));
    records.push(Record::End(End {
        at: Nanos(10 + ns),
        ..end
    }));
    trace_model(&records)
}

fn gaps_of(trace_model: &TraceModel) -> Vec<Gap> {
    let judged = trace_model.judge(SECOND);
    assert!(
        judged
            .iter()
            .all(|(_, judgement)| !judgement.verdict.is_stuck())
    );
    trace_model.gaps(judged, SECOND)
}

fn control(at: u64, control: Control) -> Record {
    let at = Nanos(at);
    Record::Control(Control { at, ..control })
}

// CT-24, CTP-32
#[test]
fn a_complete_trace_has_no_gap() {
    assert_eq!(gaps_of(&waiting_for(9 * SECOND.0, [], End::default())), []);
    assert_eq!(gaps::caveat::<Gap>(&[]), None);
}

// CT-24, CTP-32
#[test]
fn losses_in_the_end_record_are_gaps() {
    let end = End {
        refused: 1_204,
        unrecorded: 1,
        quarantined: 2,
        ..End::default()
    };
    let found = gaps_of(&waiting_for(1, [], end));
    let expected = [Gap::Refused(1_204), Gap::Unrecorded(1), Gap::Nonsense(2)];
    assert_eq!(found, expected);
    let message = "this is uncertain: 1 204 coroutines found no station and were not \
                recorded; 1 process of the program is not in this trace, or only in part; 2 records \
                made no sense and were left out";
    assert_eq!(gaps::caveat(&found).as_deref(), Some(message));
}

// CT-24, LT-10
#[test]
fn a_stop_or_a_process_filter_is_a_gap() {
    let stopped = Control {
        stopped: true,
        ..Control::default()
    };
    let single_process = Control {
        only_process: 77,
        ..Control::default()
    };
    for (change, gap) in [
        (stopped, Gap::Stopped),
        (single_process, Gap::SingleProcess(77)),
    ] {
        let changes = [control(1, change), control(2, Control::default())];
        let found = gaps_of(&waiting_for(1, changes, End::default()));
        assert_eq!(found, [gap]);
    }
}

// CT-24
#[test]
fn a_memory_image_with_waiting_coroutines_has_a_gap() {
    let image = End {
        how: ExitReason::Image,
        ..End::default()
    };
    assert_eq!(gaps_of(&waiting_for(0, [], image)), [Gap::Image]);
    let over = [event(1, 1, 20, EventKind::Death)];
    assert_eq!(gaps_of(&waiting_for(10, over, image)), []);
}

// CT-24
#[test]
fn lost_records_are_a_gap_for_longer_waits() {
    let loss = |at| thread_event(at, Act::Loss(0));
    let long = 9 * SECOND.0;
    for (ns, lost_at, gaps) in [
        (long, 5, vec![]),
        (long, 20, vec![Gap::Lost(1)]),
        (SECOND.0 / 2, 20, vec![]),
    ] {
        let trace_model = waiting_for(ns, [loss(lost_at)], End::default());
        assert_eq!(gaps_of(&trace_model), gaps, "{ns} {lost_at}");
    }
}

// CT-24
#[test]
fn longer_waits_that_are_not_told_apart_are_a_gap() {
    let leaf = |kind| {
        Record::Leaf(Leaf {
            kind,
            ..Leaf::default()
        })
    };
    let unannounced = unannounced_suspend(2, 10);
    let run = event(1, 1, 10, EventKind::Run);
    let long = 9 * SECOND.0;
    for (ns, kind, gaps) in [
        (long, LeafKind::SharedSite, vec![Gap::SharedSites(1)]),
        (long, LeafKind::Message, vec![]),
        (SECOND.0 / 2, LeafKind::SharedSite, vec![]),
    ] {
        let trace_model = waiting_for(
            ns,
            [leaf(kind), run.clone(), unannounced.clone()],
            End::default(),
        );
        assert_eq!(gaps_of(&trace_model), gaps, "{ns} {kind:?}");
    }
}

// CT-24
#[test]
fn waits_that_may_be_for_a_lock_are_a_gap() {
    for (kind, addresses, gaps) in [
        (LeafKind::Semaphore, vec![1, 2], vec![Gap::UnclearWaits(1)]),
        (LeafKind::Semaphore, vec![1, 2, 3], vec![]),
        (LeafKind::TimeOrMessage, vec![1, 2], vec![]),
    ] {
        let chain = Record::Chain(Chain {
            addresses,
            ..Chain::default()
        });
        let leaf = Record::Leaf(Leaf {
            kind,
            ..Leaf::default()
        });
        let rounds = (0..20).flat_map(|round| {
            let (n, at) = (2 * round, 10 + 10 * round);
            let run = event(1, n + 1, at, EventKind::Run);
            [run, unannounced_suspend(n + 2, at + 5)]
        });
        let records = [chain, leaf].into_iter().chain(rounds);
        let trace_model = waiting_for(9 * SECOND.0, records, End::default());
        assert_eq!(gaps_of(&trace_model), gaps, "{kind:?}");
    }
}

fn unannounced_suspend(n: u64, at: u64) -> Record {
    Record::Event(Event {
        coroutine: CoroutineId(1),
        n,
        at: Nanos(at),
        kind: EventKind::Suspend,
        ..Event::default()
    })
}
