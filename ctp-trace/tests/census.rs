//! What is counted of a stream of records.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod facts;

use std::collections::HashMap;

use ctp_trace::Census;
use ctp_trace::census::{Breach, Contradiction, Coroutine, Doing, SiteStats};
use ctp_trace::record::*;
use ctp_trace::verdict::{Fact, Verdict};
use facts::{READ, census, end, event, tally};
use proptest::prelude::*;

const SECOND: Nanos = Nanos(1_000_000_000);

fn birth(id: u32) -> Record {
    let coroutine = CoroutineId(id);
    Record::Birth(Birth {
        coroutine,
        name: format!("c{}", id % 2),
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

fn read_site(census: &Census) -> SiteStats {
    census
        .sites()
        .into_iter()
        .find(|site| site.site == READ)
        .unwrap()
}

use EventKind::{Birth as Born, Death, Run, Suspend};

#[test]
fn a_wait_lasts_from_a_suspend_to_the_next_event() {
    let mut census = census(&[birth(1), event(1, 0, 0, Born), event(1, 1, 10, Run)]);
    let ran = census.feed(&event(1, 2, 15, Suspend)).unwrap();
    assert_eq!((ran.doing, ran.length()), (Doing::Running(None), Nanos(5)));
    let waited = census.feed(&event(1, 3, 115, Run)).unwrap();
    assert_eq!(waited.doing, Doing::Waiting(READ, WaitKind::Readable));
    let ran = census.feed(&event(1, 4, 118, Suspend)).unwrap();
    assert_eq!(ran.doing, Doing::Running(Some((READ, WaitKind::Readable))));
    census.feed(&end(200));
    let site = read_site(&census);
    assert_eq!((site.waits.count(), site.waits.sum()), (1, Nanos(100)));
    assert_eq!((site.open.count(), site.open.sum()), (1, Nanos(82)));
    assert_eq!(
        (site.events, site.coroutines, site.approximate),
        (2, 1, false)
    );
    assert_eq!(site.runs.sum(), Nanos(3));
    assert_eq!(site.waited(), Nanos(182));
    assert_eq!(census.totals().first_runs.sum(), Nanos(5));
}

/// CT-16
#[test]
fn a_wait_that_ends_in_death_is_no_completed_wait() {
    let census = census(&[
        birth(1),
        event(1, 0, 0, Run),
        event(1, 1, 10, Suspend),
        event(1, 2, 5_000_000_000, Death),
        end(9_000_000_000),
    ]);
    let site = read_site(&census);
    assert_eq!(
        (
            site.waits.count(),
            site.cancelled.count(),
            site.open.count()
        ),
        (0, 1, 0)
    );
    assert_eq!(census.totals().cancelled, 1);
    assert_eq!((census.judge(SECOND), census.stuck(SECOND)), (vec![], 0));
}

/// CT-24
#[test]
fn a_gap_voids_the_span_and_marks_what_it_touches() {
    let mut census = census(&[birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)]);
    assert_eq!(census.feed(&event(1, 5, 900, Run)), None);
    let site = read_site(&census);
    assert_eq!((site.waits.count(), site.approximate), (0, true));
    assert_eq!(census.lost(), 3);
    assert!(census.coroutines()[0].is_approximate());
}

/// CT-24
#[test]
fn a_torn_newest_event_makes_the_state_unknown() {
    let told = |torn, inexact| {
        let mut census = census(&[birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)]);
        let coroutine = CoroutineId(1);
        let tally = Tally {
            coroutine,
            attempted: 3,
            recorded: 2,
            torn,
            inexact,
            ..Tally::default()
        };
        census.feed(&Record::Tally(tally));
        census.feed(&end(9_000_000_000));
        census.judge(SECOND)[0].1.verdict
    };
    assert_eq!(told(Some(2), false), Verdict::Unknown);
    assert_eq!(told(None, true), Verdict::Unknown);
    assert_eq!(
        told(Some(0), false),
        Verdict::Waiting,
        "older than what was read"
    );
}

/// CT-24
#[test]
fn events_that_could_not_be_read_make_the_state_unknown() {
    let begin = [birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)];
    let mut unread = census(&begin);
    unread.feed(&tally(1, 4, 4));
    assert_eq!(unread.judge(Nanos(0))[0].1.verdict, Verdict::Unknown);
    assert_eq!(unread.lost(), 2);
    let mut damaged = census(&begin);
    damaged.damaged();
    assert_eq!(damaged.judge(Nanos(0))[0].1.verdict, Verdict::Unknown);
    damaged.feed(&tally(1, 2, 2));
    assert_ne!(damaged.judge(Nanos(0))[0].1.verdict, Verdict::Unknown);
    let mut gap = census(&begin);
    gap.feed(&event(1, 4, 50, Suspend));
    gap.feed(&tally(1, 5, 5));
    assert_ne!(
        gap.judge(Nanos(0))[0].1.verdict,
        Verdict::Unknown,
        "all that is missing is before"
    );
}

/// Wakes are sampled after the events of a pass, so a wake may be told after the run it led to.
#[test]
fn queueing_is_counted_once_whichever_comes_first() {
    let begin = [birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)];
    let (wake, run) = (wake(1, 1, 20), event(1, 2, 25, Run));
    let orders: [&[&Record]; 3] = [&[&wake, &run], &[&run, &wake], &[&wake, &run, &wake]];
    for order in orders {
        let mut census = census(&begin);
        order.iter().for_each(|record| {
            census.feed(record);
        });
        let site = read_site(&census);
        assert_eq!((site.queued.count(), site.queued.sum()), (1, Nanos(5)));
    }
}

#[test]
fn wakes_outside_the_wait_tell_nothing_of_queueing() {
    for at in [5, 10, 30] {
        let census = census(&[
            birth(1),
            event(1, 0, 0, Run),
            event(1, 1, 10, Suspend),
            event(1, 2, 25, Run),
            wake(1, 1, at),
        ]);
        assert_eq!(read_site(&census).queued.count(), 0, "{at}");
    }
}

/// CT-15
#[test]
fn the_fact_follows_from_the_wake_word() {
    let fact = |wakes: &[Record]| {
        let mut census = census(&[birth(1), event(1, 0, 0, Run), event(1, 1, 10, Suspend)]);
        wakes.iter().for_each(|record| {
            census.feed(record);
        });
        census.judge(Nanos(0))[0].1.fact
    };
    assert_eq!(fact(&[]), Fact::Suspended, "the runtime does not tell");
    assert_eq!(fact(&[wake(1, 0, 0)]), Fact::NotWoken);
    assert_eq!(fact(&[wake(1, 0, 0), wake(1, 1, 20)]), Fact::WokenNotRun);
    assert_eq!(
        fact(&[wake(1, 0xf_ffff, 0)]),
        Fact::Suspended,
        "read before the suspend"
    );
}

#[test]
fn who_is_over_and_accounted_for_is_forgotten() {
    let mut census = Census::new();
    for id in 1..=1000 {
        for record in [
            birth(id),
            event(id, 0, 0, Run),
            event(id, 2, 9, Death),
            tally(id, 3, 2),
        ] {
            census.feed(&record);
        }
    }
    assert_eq!(
        (census.coroutines().len(), census.totals().coroutines),
        (0, 1000)
    );
    assert_eq!((census.lost(), census.totals().events), (1000, 2000));
}

#[test]
fn a_coroutine_costs_little() {
    assert!(
        size_of::<Coroutine>() <= 400,
        "{} bytes",
        size_of::<Coroutine>()
    );
}

fn any_record() -> impl Strategy<Value = Record> {
    let (id, n, at) = (1u32..6, 0u64..12, any::<u64>());
    let kind = prop::sample::select(vec![Born, Run, Suspend, Death]);
    prop_oneof![
        (1u32..6).prop_map(birth),
        (id.clone(), n, at, kind).prop_map(|(id, n, at, kind)| event(id, n, at, kind)),
        (id.clone(), any::<u32>(), at).prop_map(|(id, count, at)| wake(id, count, at)),
        (id, any::<u64>(), any::<u64>()).prop_map(|(id, a, r)| tally(id, a, r)),
        any::<u64>().prop_map(end),
    ]
}

proptest! {
    #[test]
    fn no_stream_of_records_panics(records in prop::collection::vec(any_record(), 0..80)) {
        let mut census = census(&records);
        census.damaged();
        prop_assert!(census.stuck(SECOND) <= census.judge(SECOND).len());
        census.sites();
        census.lost();
    }

    /// Without a loss, the spans fill each coroutine's life, and the sums are those of the spans.
    #[test]
    fn spans_are_complete(steps in prop::collection::vec((1u32..4, 1u64..1000), 1..100)) {
        let mut census = census(&[birth(1), birth(2), birth(3)]);
        let (mut clock, mut spans, mut counts) = (0, 0, HashMap::new());
        for (id, length) in steps {
            clock += length;
            let n = counts.entry(id).or_insert((0u64, clock));
            let kind = if n.0 % 2 == 0 { Run } else { Suspend };
            if let Some(span) = census.feed(&event(id, n.0, clock, kind)) {
                prop_assert_eq!(span.from, Nanos(n.1));
                spans += span.length().0;
            }
            *n = (n.0 + 1, clock);
        }
        let all = census.coroutines();
        prop_assert_eq!(all.iter().map(|one| one.waited.sum.0 + one.ran.sum.0).sum::<u64>(), spans);
        prop_assert_eq!(census.lost(), 0);
    }
}

fn process_end(process: u32, at: u64, how: ProcessEnding) -> Record {
    Record::ProcessEnd(ProcessEnd {
        process: ProcessId(process),
        at: Nanos(at),
        how,
    })
}

/// A coroutine of a process that suspends for ever at once.
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
fn ages_are_measured_to_the_end_of_the_process_and_an_image_that_was_replaced_is_over() {
    let mut census = Census::new();
    let records = [waits(1, 1), waits(2, 2), waits(3, 3)]
        .into_iter()
        .flatten();
    for record in records {
        census.feed(&record);
    }
    census.feed(&process_end(1, 500, ProcessEnding::Gone));
    census.feed(&process_end(2, 600, ProcessEnding::Exec));
    census.feed(&Record::End(End {
        at: Nanos(1100),
        ..End::default()
    }));
    let ages: Vec<_> = census
        .judge(SECOND)
        .into_iter()
        .map(|(id, judgement)| (id.0, judgement.age.0))
        .collect();
    assert_eq!(ages, [(1, 400), (3, 1000)]);
    let sites = census.sites();
    assert_eq!(
        (sites[0].open.count(), sites[0].open.sum()),
        (2, Nanos(1400))
    );
}

/// The events of an accusation: what is wrong, and the threads of both events.
fn accusations(dialect: Dialect, events: &[(u64, EventKind, u64)]) -> Vec<(Breach, u64, u64)> {
    let mut census = Census::new();
    census.feed(&Record::Birth(Birth {
        coroutine: CoroutineId(1),
        dialect,
        ..Birth::default()
    }));
    for &(n, kind, tid) in events {
        census.feed(&Record::Event(Event {
            coroutine: CoroutineId(1),
            n,
            tid,
            kind,
            ..Event::default()
        }));
    }
    let broken = census.broken();
    assert!(
        broken
            .iter()
            .all(|one| one.count == one.proofs.len() as u64)
    );
    let proofs = broken.iter().flat_map(|one| &one.proofs);
    let said = |it: &Contradiction| (it.breach, it.before.tid, it.after.tid);
    proofs.map(said).collect()
}

// CTP-31
#[test]
fn what_no_scheduler_may_do_is_noticed() {
    use Breach::*;
    let of = |events: &[(u64, EventKind, u64)]| accusations(Dialect::Extended, events);
    assert_eq!(
        of(&[(0, Born, 7), (1, Run, 8), (2, Run, 9)]),
        [(DoubleResume, 8, 9)]
    );
    assert_eq!(
        of(&[(0, Suspend, 8), (1, Suspend, 9)]),
        [(SuspendedTwice, 8, 9)]
    );
    assert_eq!(of(&[(0, Death, 8), (1, Run, 8)]), [(AfterDeath, 8, 8)]);
    assert_eq!(of(&[(0, Born, 8), (1, Born, 8)]), [(BornTwice, 8, 8)]);
}

// CTP-31
#[test]
fn what_may_be_is_no_accusation() {
    let of = |events: &[(u64, EventKind, u64)]| accusations(Dialect::Extended, events);
    let wanders = [
        (0, Born, 7),
        (1, Run, 8),
        (2, Suspend, 8),
        (3, Run, 9),
        (4, Death, 8),
    ];
    assert_eq!(of(&wanders), []);
    assert_eq!(
        of(&[(0, Run, 8), (1, Run, 8)]),
        [],
        "told twice on one thread"
    );
    assert_eq!(
        of(&[(0, Run, 8), (2, Run, 9)]),
        [],
        "what came between is lost"
    );
    assert_eq!(
        of(&[(5, Run, 8), (5, Run, 9), (4, Suspend, 9)]),
        [],
        "numbers went back"
    );
    assert_eq!(of(&[(0, Run, 0), (1, Run, 9)]), [], "a thread is not known");
}

/// Published v1 wrappers resume without a suspend where an awaited value was ready (D-T10).
// CTP-31
#[test]
fn a_plain_v1_peer_is_never_accused() {
    let odd = [
        (0, Run, 8),
        (1, Run, 9),
        (2, Suspend, 8),
        (3, Suspend, 9),
        (4, Death, 9),
        (5, Run, 8),
    ];
    assert_eq!(accusations(Dialect::V1PerSlot, &odd), []);
    assert_eq!(accusations(Dialect::V1PerStation, &odd), []);
}

// CTP-31
#[test]
fn of_very_many_that_are_broken_the_first_thousand_are_kept_and_the_others_counted() {
    let mut census = Census::new();
    for id in 1..=1_200 {
        for n in 0..3 {
            census.feed(&event(id, n, 0, Suspend));
        }
    }
    let broken = census.broken();
    assert!(broken.iter().all(|one| one.count == 2));
    assert_eq!(broken.len(), 1_000);
    assert_eq!(census.broken_besides(), 400);
}

fn deed(at: u64, act: Act) -> Record {
    Record::Deed(Deed {
        at: Nanos(at),
        tid: 7,
        act,
        ..Deed::default()
    })
}

fn call(id: u32, count: u32, site: u32) -> Act {
    Act::Wake(WakeCall {
        coroutine: CoroutineId(id),
        count,
        site: SiteId(site),
        ..WakeCall::default()
    })
}

// CT-14
#[test]
fn the_place_that_usually_wakes_a_site_is_counted_where_a_wake_ended_a_wait() {
    use EventKind::{Run, Suspend};
    let census = census(&[
        event(1, 0, 10, Run),
        deed(15, call(1, 1, 3)),
        event(1, 1, 20, Suspend),
        event(1, 2, 30, Run),
        event(1, 3, 40, Suspend),
        deed(45, call(1, 2, 4)),
        deed(50, call(1, 3, 3)),
        event(1, 4, 60, Run),
        deed(65, call(1, 4, 4)),
        event(1, 5, 70, Suspend),
        deed(75, call(1, 5, 3)),
    ]);
    let wakers = read_site(&census).wakers;
    assert_eq!(wakers.places().collect::<Vec<_>>(), [&(SiteId(3), 1)]);
    assert_eq!(wakers.count(), 1);
    let woken = census.get(CoroutineId(1)).unwrap().woken.unwrap();
    assert_eq!((woken.at, woken.tid, woken.count), (Nanos(75), 7, 5));
}

// CT-14
#[test]
fn who_is_forgotten_is_not_brought_back_by_a_late_wake() {
    let census = census(&[
        event(1, 0, 10, EventKind::Death),
        tally(1, 1, 1),
        deed(15, call(1, 1, 3)),
    ]);
    assert!(census.coroutines().is_empty());
}

// CT-14
#[test]
fn a_closing_tells_what_a_coroutine_that_waits_has_lost() {
    let close = |arg, site| {
        Act::Close(Close {
            wait: WaitKind::Readable,
            arg,
            site: SiteId(site),
        })
    };
    let census = census(&[
        deed(5, close(0, 1)),
        event(1, 0, 10, EventKind::Suspend),
        deed(20, close(0, 2)),
        deed(30, close(0, 1)),
        deed(40, close(9, 1)),
    ]);
    let lost = census.closings();
    let closing = lost[&CoroutineId(1)];
    assert_eq!(
        (closing.at, closing.tid, closing.site),
        (Nanos(20), 7, SiteId(2))
    );
    assert_eq!((lost.len(), census.end_at()), (1, Nanos(40)));
}

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
    assert_eq!((one.waited.count, one.ran.count), (0, 2));
    assert_eq!((one.lost(), census.lost()), (0, 0));
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
    assert_eq!(census.filtered(), 9);
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
