//! Spans of waiting and running, and the state of a coroutine that follows from its events.

use ctp_trace::TraceModel;
use ctp_trace::model::{Coroutine, MAX_SITES, SpanActivity};
use ctp_trace::record::EventKind::{Birth as Born, Death, Run, Suspend};
use ctp_trace::record::*;
use ctp_trace::verdict::{Fact, Verdict};

use super::{SECOND, birth, read_site, wake};
use crate::facts::{READ, end, event, event_counts, trace_model};

#[test]
fn a_wait_lasts_from_a_suspend_to_the_next_event() {
    let mut trace_model = trace_model(&[birth(1), event(1, 0, 0, Born), event(1, 1, 10, Run)]);
    let ran = trace_model.consume(&event(1, 2, 15, Suspend)).unwrap();
    assert_eq!(
        (ran.activity, ran.length()),
        (SpanActivity::Running(None), Nanos(5))
    );
    let waited = trace_model.consume(&event(1, 3, 115, Run)).unwrap();
    assert_eq!(
        waited.activity,
        SpanActivity::Waiting(READ, WaitKind::Readable)
    );
    let ran = trace_model.consume(&event(1, 4, 118, Suspend)).unwrap();
    assert_eq!(
        ran.activity,
        SpanActivity::Running(Some((READ, WaitKind::Readable)))
    );
    trace_model.consume(&end(200));
    let site = read_site(&trace_model);
    assert_eq!((site.waits.count(), site.waits.sum()), (1, Nanos(100)));
    assert_eq!((site.open.count(), site.open.sum()), (1, Nanos(82)));
    assert_eq!(
        (site.events, site.coroutines, site.approximate),
        (2, 1, false)
    );
    assert_eq!(site.runs.sum(), Nanos(3));
    assert_eq!(site.waited(), Nanos(182));
    assert_eq!(trace_model.totals().first_runs.sum(), Nanos(5));
}

// CT-08
#[test]
fn early_births_and_wakes_do_not_move_the_end() {
    let mut trace_model = trace_model(&[
        birth(1),
        event(1, 0, 0, Run),
        event(1, 1, SECOND.0, Suspend),
        wake(1, 1, 9 * SECOND.0),
    ]);
    assert_eq!(trace_model.end_at(), SECOND);
    assert_eq!(trace_model.incomplete_tail(), Nanos(8 * SECOND.0));
    trace_model.consume(&Record::Watermark(Nanos(10 * SECOND.0)));
    assert_eq!(trace_model.end_at(), Nanos(10 * SECOND.0));
    assert_eq!(trace_model.incomplete_tail(), Nanos(0));
}

#[test]
fn no_wait_is_missing_beyond_the_site_limit() {
    let mut trace_model = trace_model(&[birth(1), event(1, 0, 0, Run)]);
    let sites = MAX_SITES as u32 + 1000;
    for at in 1..u64::from(sites) {
        let waits = Event {
            coroutine: CoroutineId(1),
            n: 2 * at - 1,
            at: Nanos(20 * at),
            kind: Suspend,
            site: SiteId(at as u32),
            ..Event::default()
        };
        trace_model.consume(&Record::Event(waits));
        trace_model.consume(&event(1, 2 * at, 20 * at + 7, Run));
    }
    let all = trace_model.sites();
    let waited: u64 = all.iter().map(|site| site.waits.sum().0).sum();
    assert_eq!(all.len(), MAX_SITES + 1);
    assert_eq!(
        waited,
        trace_model.get(CoroutineId(1)).unwrap().waits.waited.sum.0
    );
    assert!(
        all.iter()
            .all(|site| site.coroutines == 1 && !site.approximate)
    );
}

/// CT-16
#[test]
fn a_wait_ended_by_death_counts_as_cancelled() {
    let trace_model = trace_model(&[
        birth(1),
        event(1, 0, 0, Run),
        event(1, 1, 10, Suspend),
        event(1, 2, 5_000_000_000, Death),
        end(9_000_000_000),
    ]);
    let site = read_site(&trace_model);
    assert_eq!(
        (
            site.waits.count(),
            site.cancelled.count(),
            site.open.count()
        ),
        (0, 1, 0)
    );
    assert_eq!(trace_model.totals().cancelled, 1);
    assert_eq!(trace_model.judge(SECOND), []);
}

/// CT-24
#[test]
fn a_gap_voids_the_span_and_marks_what_it_touches() {
    let mut trace_model = trace_model(&[birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)]);
    assert_eq!(trace_model.consume(&event(1, 5, 900, Run)), None);
    let site = read_site(&trace_model);
    assert_eq!((site.waits.count(), site.approximate), (0, true));
    assert_eq!(trace_model.lost(), 3);
    assert!(trace_model.coroutines()[0].account.is_approximate());
}

/// CT-24
#[test]
fn a_torn_newest_event_makes_the_state_unknown() {
    let reported = |torn, inexact| {
        let mut trace_model =
            trace_model(&[birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)]);
        let coroutine = CoroutineId(1);
        let event_counts = EventCounts {
            coroutine,
            attempted: 3,
            recorded: 2,
            torn,
            inexact,
            ..EventCounts::default()
        };
        trace_model.consume(&Record::EventCounts(event_counts));
        trace_model.consume(&end(9_000_000_000));
        trace_model.judge(SECOND)[0].1.verdict
    };
    assert_eq!(reported(Some(2), false), Verdict::Unknown);
    assert_eq!(reported(None, true), Verdict::Unknown);
    assert_eq!(
        reported(Some(0), false),
        Verdict::Waiting,
        "older than what was read"
    );
}

/// CT-24
#[test]
fn events_that_could_not_be_read_make_the_state_unknown() {
    let begin = [birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)];
    let mut unread = trace_model(&begin);
    unread.consume(&event_counts(1, 4, 4));
    assert_eq!(unread.judge(Nanos(0))[0].1.verdict, Verdict::Unknown);
    assert_eq!(unread.lost(), 2);
    let mut damaged = trace_model(&begin);
    damaged.note_damage();
    assert_eq!(damaged.judge(Nanos(0))[0].1.verdict, Verdict::Unknown);
    damaged.consume(&event_counts(1, 2, 2));
    assert_ne!(damaged.judge(Nanos(0))[0].1.verdict, Verdict::Unknown);
    let mut gap = trace_model(&begin);
    gap.consume(&event(1, 4, 50, Suspend));
    gap.consume(&event_counts(1, 5, 5));
    assert_ne!(
        gap.judge(Nanos(0))[0].1.verdict,
        Verdict::Unknown,
        "only earlier events are missing"
    );
}

/// Wakes are sampled after the events of a pass, so a wake may be recorded after the resulting run.
#[test]
fn queueing_is_counted_once_whichever_comes_first() {
    let begin = [birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)];
    let (wake, run) = (wake(1, 1, 20), event(1, 2, 25, Run));
    let orders: [&[&Record]; 3] = [&[&wake, &run], &[&run, &wake], &[&wake, &run, &wake]];
    for order in orders {
        let mut trace_model = trace_model(&begin);
        order.iter().for_each(|record| {
            trace_model.consume(record);
        });
        let site = read_site(&trace_model);
        assert_eq!((site.queued.count(), site.queued.sum()), (1, Nanos(5)));
    }
}

#[test]
fn wakes_outside_the_wait_add_no_queueing() {
    for at in [5, 10, 30] {
        let trace_model = trace_model(&[
            birth(1),
            event(1, 0, 0, Run),
            event(1, 1, 10, Suspend),
            event(1, 2, 25, Run),
            wake(1, 1, at),
        ]);
        assert_eq!(read_site(&trace_model).queued.count(), 0, "{at}");
    }
}

/// CT-15
#[test]
fn the_fact_follows_from_the_wake_word() {
    let fact = |wakes: &[Record]| {
        let mut trace_model =
            trace_model(&[birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)]);
        wakes.iter().for_each(|record| {
            trace_model.consume(record);
        });
        trace_model.judge(Nanos(0))[0].1.fact
    };
    assert_eq!(fact(&[]), Fact::Suspended, "wakes are not recorded");
    assert_eq!(fact(&[wake(1, 0, 0)]), Fact::NotWoken);
    assert_eq!(fact(&[wake(1, 0, 0), wake(1, 1, 20)]), Fact::WokenNotRun);
    assert_eq!(
        fact(&[wake(1, 0xf_ffff, 0)]),
        Fact::Suspended,
        "read before the suspend"
    );
}

#[test]
fn ended_and_counted_coroutines_are_removed() {
    let mut trace_model = TraceModel::new();
    for id in 1..=1000 {
        for record in [
            birth(id),
            event(id, 0, 0, Run),
            event(id, 2, 9, Death),
            event_counts(id, 3, 2),
        ] {
            trace_model.consume(&record);
        }
    }
    assert_eq!(
        (
            trace_model.coroutines().len(),
            trace_model.totals().coroutines
        ),
        (0, 1000)
    );
    assert_eq!(
        (trace_model.lost(), trace_model.totals().events),
        (1000, 2000)
    );
}

#[test]
fn a_coroutine_costs_little() {
    assert!(
        size_of::<Coroutine>() <= 440,
        "{} bytes",
        size_of::<Coroutine>()
    );
}

fn process_end(process: u32, at: u64, how: ProcessExit) -> Record {
    Record::ProcessEnd(ProcessEnd {
        process: ProcessId(process),
        at: Nanos(at),
        how,
    })
}

/// A coroutine of `process` with a suspend as its only event.
fn waits(id: u32, process: u32) -> [Record; 2] {
    let birth = Record::Birth(Birth {
        coroutine: CoroutineId(id),
        process: ProcessId(process),
        ..Birth::default()
    });
    [birth, event(id, 0, 100, EventKind::Suspend)]
}

// CTP-33, CTP-34
#[test]
fn ages_end_with_the_process_and_exec_ends_coroutines() {
    let mut trace_model = TraceModel::new();
    let records = [waits(1, 1), waits(2, 2), waits(3, 3)]
        .into_iter()
        .flatten();
    for record in records {
        trace_model.consume(&record);
    }
    trace_model.consume(&process_end(1, 500, ProcessExit::Disappeared));
    trace_model.consume(&process_end(2, 600, ProcessExit::Exec));
    trace_model.consume(&Record::End(End {
        at: Nanos(1100),
        ..End::default()
    }));
    let ages: Vec<_> = trace_model
        .judge(SECOND)
        .into_iter()
        .map(|(id, judgement)| (id.0, judgement.age.0))
        .collect();
    assert_eq!(ages, [(1, 400), (3, 1000)]);
    let sites = trace_model.sites();
    assert_eq!(
        (sites[0].open.count(), sites[0].open.sum()),
        (2, Nanos(1400))
    );
}
