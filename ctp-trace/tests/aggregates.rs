//! Totals from aggregates, which programs sum up themselves.

mod facts;

use std::collections::BTreeMap;

use ctp_trace::TraceModel;
use ctp_trace::model::Named;
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;
use facts::{end, event, event_counts, trace_model};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn birth(id: u32, name: &str, dialect: Dialect) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        name: name.to_owned(),
        dialect,
        ..Birth::default()
    })
}

fn durations(all: &[u64]) -> Durations {
    let mut durations = Durations::default();
    all.iter()
        .for_each(|ns| durations.add(Nanos(*ns), Bins::USUAL));
    durations
}

fn aggregate(id: u32, waits: &[u64], runs: &[u64]) -> Aggregate {
    Aggregate {
        coroutine: CoroutineId(id),
        stands_for_events: true,
        bins: Bins::USUAL,
        waiting: durations(waits),
        running: durations(runs),
        ..Aggregate::default()
    }
}

fn reported(aggregate: Aggregate) -> Record {
    Record::Aggregate(Box::new(aggregate))
}

fn only_name(trace_model: &TraceModel) -> Named {
    let mut all = trace_model.by_name();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

use EventKind::{Death, Run, Suspend};

/// A coroutine with a hundred events, of which the trace has the last two. It waits since `since`.
fn summed_up(id: u32, waits: &[u64], since: u64) -> [Record; 5] {
    [
        birth(id, "worker", Dialect::Extended),
        reported(aggregate(id, waits, &[1; 49])),
        event(id, 98, since - 1, Run),
        event(id, 99, since, Suspend),
        event_counts(id, 100, 2),
    ]
}

// CT-24, AGG-07
#[test]
fn summed_up_totals_are_exact_without_their_events() {
    let mut trace_model = trace_model(&summed_up(1, &[40; 49], 1_000));
    trace_model.consume(&end(2_000));
    assert_eq!((trace_model.lost(), trace_model.summed_up()), (0, 98));
    assert!(!trace_model.is_approximate());
    let named = only_name(&trace_model);
    assert_eq!(
        (named.waiting, named.running),
        (durations(&[40; 49]), durations(&[1; 49]))
    );
    assert!(!named.approximate);
    let site = trace_model.sites().remove(0);
    assert!(site.approximate, "the site is known from two events only");
}

// AGG-19
#[test]
fn an_open_wait_is_an_age_outside_the_totals() {
    let mut trace_model = trace_model(&summed_up(1, &[40; 49], 1_000));
    trace_model.consume(&end(7_000));
    let named = only_name(&trace_model);
    assert_eq!(
        (named.open.count(), named.open.max()),
        (1, Some(Nanos(6_000)))
    );
    assert_eq!(named.waiting.max, Nanos(40));
}

// AGG-11
#[test]
fn an_aggregate_replaces_the_previous_aggregate() {
    let mut trace_model = trace_model(&summed_up(1, &[40; 49], 1_000));
    let before = only_name(&trace_model);
    trace_model.consume(&reported(aggregate(1, &[40; 49], &[1; 49])));
    assert_eq!(only_name(&trace_model).waiting, before.waiting);
    trace_model.consume(&reported(aggregate(1, &[40; 50], &[1; 49])));
    assert_eq!(only_name(&trace_model).waiting, durations(&[40; 50]));
}

// AGG-16, CT-24
#[test]
fn left_out_updates_mark_the_totals() {
    let left_out = Record::Aggregate(Box::new(Aggregate {
        left_out: 3,
        ..aggregate(1, &[5], &[5])
    }));
    let trace_model = trace_model(&[birth(1, "worker", Dialect::Extended), left_out]);
    let named = only_name(&trace_model);
    assert_eq!((named.left_out, named.approximate), (3, true));
    assert!(trace_model.is_approximate());
}

// AGG-22, CT-24
#[test]
fn plain_peer_totals_are_marked_after_a_loss() {
    let whole = [
        birth(1, "", Dialect::V1PerSlot),
        event(1, 0, 0, Run),
        event(1, 1, 10, Suspend),
        event(1, 2, 110, Run),
    ];
    let named = only_name(&trace_model(&whole));
    assert_eq!(
        (named.waiting, named.running),
        (durations(&[100]), durations(&[10]))
    );
    assert!(!named.approximate);
    let lossy = [&whole[..], &[event(1, 9, 200, Suspend)]].concat();
    assert!(only_name(&trace_model(&lossy)).approximate);
}

/// Ended coroutines of the same name, each with one wait of `longest`.
fn siblings(count: u32, longest: u64) -> Vec<Record> {
    let mut records = Vec::new();
    for id in 2..2 + count {
        let mut waits = [900; 49];
        waits[id as usize % 49] = longest;
        records.extend(summed_up(id, &waits, 1_000));
        records.pop();
        records.push(event(id, 100, 2_000, Run));
        records.push(event(id, 101, 2_001, Death));
        records.push(event_counts(id, 102, 4));
    }
    records
}

fn verdict_of_the_first(records: Vec<Record>) -> Verdict {
    trace_model(&records).judge(Nanos(SECOND))[0].1.verdict
}

#[test]
fn names_are_compared_where_only_totals_are_known() {
    let records = summed_up(1, &[900; 49], 1_000);
    let with = |count, longest| {
        let siblings = siblings(count, longest);
        verdict_of_the_first([&records[..], &siblings, &[end(60 * SECOND)]].concat())
    };
    assert_eq!(with(100, 1_000), Verdict::MaybeStuck);
    assert_eq!(with(7, 1_000), Verdict::MaybeStuck);
    assert_eq!(with(100, 50 * SECOND), Verdict::Waiting);
}

#[test]
fn totals_alone_give_no_certainty() {
    let wake = |id, at| {
        Record::Wake(Wake {
            coroutine: CoroutineId(id),
            count: 1,
            at: Nanos(at),
            ..Wake::default()
        })
    };
    let mut records = summed_up(1, &[900; 49], 1_000).to_vec();
    records.push(wake(1, 2_000));
    records.extend(siblings(7, 1_000));
    records.push(birth(10, "worker", Dialect::Extended));
    records.push(event(10, 0, 58 * SECOND, EventKind::Birth));
    records.push(event(10, 1, 59 * SECOND, Run));
    records.push(end(60 * SECOND));
    assert_eq!(verdict_of_the_first(records), Verdict::MaybeStuck);
}

proptest! {
    // AGG-10
    #[test]
    fn totals_by_name_and_site_add_up(
        all in prop::collection::vec(
            (0u8..3, 0u32..3, prop::collection::vec(any::<u32>(), 0..20), any::<bool>()), 1..30),
    ) {
        let mut trace_model = TraceModel::new();
        let mut sums = BTreeMap::<_, (u64, Durations)>::new();
        for (id, (name, place, waits, is_over)) in (1..).zip(&all) {
            let waits: Vec<u64> = waits.iter().map(|ns| u64::from(*ns)).collect();
            trace_model.consume(&Record::Birth(Birth {
                coroutine: CoroutineId(id),
                name: name.to_string(),
                spawn_site: SiteId(*place),
                ..Birth::default()
            }));
            trace_model.consume(&reported(aggregate(id, &waits, &[])));
            let sum = sums.entry((name.to_string(), *place)).or_default();
            sum.0 += 1;
            sum.1.merge(&durations(&waits));
            if *is_over {
                trace_model.consume(&event(id, 0, 1, Death));
                trace_model.consume(&event_counts(id, 1, 1));
            }
        }
        let named = trace_model.by_name();
        prop_assert_eq!(named.len(), sums.len());
        for of_name in named {
            let name = trace_model.name(of_name.group_key.name).to_owned();
            let sum = &sums[&(name, of_name.group_key.spawn_site.0)];
            prop_assert_eq!(of_name.coroutines, sum.0);
            prop_assert_eq!(&of_name.waiting, &sum.1);
            let again = trace_model.named(of_name.group_key).unwrap();
            prop_assert_eq!(again.waiting, of_name.waiting);
        }
    }
}
