//! Summaries of a memory with aggregates.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::aggregate::{Bins, MODE_SUMMARY};
use ctp_nostd::create::Recording;
use ctp_nostd::{Coroutine, Probe, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::TraceModel;
use ctp_trace::model::SpanActivity;
use ctp_trace::record::{self, Aggregate, Durations, EventKind, Nanos, ProcessId, Record};
use proptest::prelude::*;

use crate::reaped_stations::memory;
use crate::test_memory::{
    Bare, RecordBuffer, SingleProcess, TestMemory, births_in, events_in, let_pass, tallies_in,
};

fn aggregates_in(records: &[Record]) -> Vec<Aggregate> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Aggregate(aggregate) => Some((**aggregate).clone()),
            _ => None,
        })
        .collect()
}

/// The totals that a model computes from all events.
fn model(records: &[Record]) -> (Durations, Durations) {
    let (mut waiting, mut running) = Default::default();
    let mut trace_model = TraceModel::new();
    for record in records {
        let Some(span) = trace_model.consume(record) else {
            continue;
        };
        let is_death = matches!(record, Record::Event(event) if event.kind == EventKind::Death);
        let total: &mut Durations = match span.activity {
            SpanActivity::Waiting(..) if is_death => continue,
            SpanActivity::Waiting(..) => &mut waiting,
            SpanActivity::Running(_) => &mut running,
        };
        total.add(span.length(), record::Bins::USUAL);
    }
    (waiting, running)
}

fn act(coroutine: &Coroutine<Bare>, code: u8) {
    if code == 0 {
        coroutine.run();
    } else {
        coroutine.suspend(Wait::user(1));
    }
}

proptest! {
    // AGG-07, CT-24
    #[test]
    fn totals_equal_those_of_the_model_when_nothing_is_lost(
        acts in prop::collection::vec((0u8..2, 0u64..1 << 40), 0..60),
        dies in any::<bool>(),
    ) {
        let mut test_memory = TestMemory::with_aggregates();
        let coroutine = test_memory.born("task");
        let mut records = Vec::new();
        for (code, ns) in acts {
            let_pass(ns);
            act(&coroutine, code);
            records.extend(test_memory.pass().1);
        }
        if dies {
            drop(coroutine);
        } else {
            std::mem::forget(coroutine);
        }
        let aggregates = aggregates_in(&test_memory.summed_up());
        records.extend(test_memory.finish());
        prop_assert_eq!(test_memory.totals().lost, 0);
        prop_assert_eq!((aggregates[0].waiting, aggregates[0].running), model(&records));
    }

    // AGG-15
    #[test]
    fn probe_and_report_use_the_same_bins(
        ns in prop_oneof![any::<u64>(), (0u32..64).prop_map(|k| 1 << k), (0u32..64).prop_map(|k| (1 << k) - 1)],
        lo in 0u32..64,
        step_shift in 0u32..6,
    ) {
        let probe = Bins::new(lo, 1 << step_shift).expect("as documented");
        let report = record::Bins { lo: lo as u8, step: 1 << step_shift };
        prop_assert_eq!(probe.of(ns), report.of(Nanos(ns)));
    }
}

fn live(coroutine: &Coroutine<Bare>, rounds: u32) {
    for _ in 0..rounds {
        coroutine.run();
        coroutine.suspend(Wait::user(1));
    }
}

// AGG-07, CT-24
#[test]
fn events_in_totals_are_not_lost() {
    let mut test_memory = TestMemory::summing_up();
    let coroutine = test_memory.born("task");
    live(&coroutine, 10_000);
    test_memory.pass();
    live(&coroutine, 10_000);
    std::mem::forget(coroutine);
    let records = test_memory.finish();
    let aggregates = aggregates_in(&records);
    assert_eq!(
        (aggregates[0].waiting.count, aggregates[0].running.count),
        (19_999, 20_000)
    );
    assert_eq!(events_in(&records).len(), 8);
    let event_counts = tallies_in(&records)[0];
    assert_eq!((event_counts.attempted, event_counts.recorded), (40_001, 8));
    assert_eq!(
        (test_memory.totals().lost, test_memory.totals().summed_up),
        (0, 39_993)
    );
}

// AGG-13, AGG-21
#[test]
fn coroutine_in_a_reaped_station_has_totals_of_own() {
    let recording = Recording {
        mode: MODE_SUMMARY,
        ..Recording::default()
    };
    let region = memory(1, &recording);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0).summing_up(Bins::USUAL);
    let probe: Probe<Bare> = Probe::new(region, 1);
    let first = probe.born("first");
    live(&first, 100);
    std::mem::forget(first); // as if its process had been killed
    harvest.pass(&region, &mut outside, &mut buffer);
    harvest.reap(ProcessId(1), &region, &mut outside, &mut buffer);
    let_pass(1_000_000);
    let second = probe.born("second");
    live(&second, 2);
    std::mem::forget(second);
    harvest.finish(&region, &mut outside, &mut buffer);
    let aggregates = aggregates_in(&buffer.0);
    let counts = aggregates
        .iter()
        .map(|aggregate| (aggregate.waiting.count, aggregate.running.count));
    assert_eq!(counts.collect::<Vec<_>>(), [(99, 100), (1, 2)]);
    assert!(
        aggregates[1].waiting.max < Nanos(1_000_000),
        "nothing of the time between the two"
    );
    assert_eq!(births_in(&buffer.0)[1].generation, 4);
}

// AGG-13
#[test]
fn totals_of_an_ended_coroutine_precede_the_account() {
    let mut test_memory = TestMemory::summing_up();
    let first = test_memory.born("first");
    live(&first, 100);
    drop(first);
    let (_, records) = test_memory.pass();
    let is_aggregate = |record: &Record| matches!(record, Record::Aggregate(_));
    let is_closed = |record: &Record| matches!(record, Record::EventCounts(_));
    let at = |is: fn(&Record) -> bool| records.iter().position(is).expect("is there");
    assert!(at(is_aggregate) < at(is_closed));
}

static NOW_NS: AtomicU64 = AtomicU64::new(0);

// AGG-17, AGG-11
#[test]
fn totals_are_emitted_at_growing_intervals_after_events() {
    const SECOND: u64 = 1_000_000_000;
    let mut test_memory = TestMemory::summing_up_by(|| NOW_NS.load(Relaxed));
    let coroutine = test_memory.born("task");
    let mut emitted_at = Vec::new();
    for tenth in 0..100 {
        NOW_NS.store(2 * SECOND + tenth * SECOND / 10, Relaxed);
        live(&coroutine, 100);
        let aggregates = aggregates_in(&test_memory.pass().1);
        emitted_at.extend(
            aggregates
                .iter()
                .map(|aggregate| (tenth, aggregate.running.count)),
        );
    }
    assert_eq!(emitted_at, [(10, 1_100), (30, 3_100), (70, 7_100)]);
    let aggregates = aggregates_in(&test_memory.finish());
    assert_eq!(aggregates[0].running.count, 10_000);
    std::mem::forget(coroutine);
}

// AGG-17
#[test]
fn idle_coroutine_has_the_totals_emitted_once() {
    let mut test_memory = TestMemory::summing_up_by(|| SLEEPERS_NS.load(Relaxed));
    let coroutine = test_memory.born("sleeper");
    live(&coroutine, 1);
    let mut aggregates = 0;
    for second in 0..100 {
        SLEEPERS_NS.store((2 + second) * 1_000_000_000, Relaxed);
        aggregates += aggregates_in(&test_memory.pass().1).len();
    }
    aggregates += aggregates_in(&test_memory.finish()).len();
    assert_eq!(aggregates, 1);
    std::mem::forget(coroutine);
}

static SLEEPERS_NS: AtomicU64 = AtomicU64::new(0);

/// Offsets of the second station's words.
const COUNT_OF_WAITING_A: usize = 2 * 1024 + 0x280;

#[test]
fn impossible_totals_are_left_out_and_marked_inexact() {
    let mut test_memory = TestMemory::summing_up();
    let [sound, unsound] = ["sound", "unsound"].map(|name| test_memory.born(name));
    live(&sound, 100);
    live(&unsound, 100);
    test_memory.put_u64(COUNT_OF_WAITING_A, 5);
    [sound, unsound].into_iter().for_each(std::mem::forget);
    let records = test_memory.finish();
    assert_eq!(aggregates_in(&records).len(), 1);
    let tallies = tallies_in(&records);
    assert_eq!((tallies[0].inexact, tallies[1].inexact), (false, true));
    assert_eq!(test_memory.totals().lost, 193, "no totals include them");
}

// AGG-22
#[test]
fn events_of_a_probe_without_aggregates_are_lost() {
    let mut test_memory = TestMemory::summing_up_nothing();
    let coroutine = test_memory.born("task");
    live(&coroutine, 100);
    assert_eq!(test_memory.events().len(), 8);
    live(&coroutine, 1);
    drop(coroutine);
    let (_, records) = test_memory.pass();
    assert_eq!(aggregates_in(&records), []);
    let event_counts = tallies_in(&records)[0];
    assert_eq!(
        (
            event_counts.attempted,
            event_counts.recorded,
            event_counts.inexact
        ),
        (204, 11, false)
    );
    assert_eq!(
        (test_memory.totals().lost, test_memory.totals().summed_up),
        (193, 0)
    );
}

static OWNERS_NS: AtomicU64 = AtomicU64::new(0);

// AGG-05
#[test]
fn totals_that_become_unreadable_are_marked_inexact() {
    const GENERATION: usize = 1024 + 0x14;
    let mut test_memory = TestMemory::summing_up_by(|| OWNERS_NS.load(Relaxed));
    let coroutine = test_memory.born("task");
    live(&coroutine, 100);
    let mut aggregates = Vec::new();
    for second in 2..5 {
        OWNERS_NS.store(second * 1_000_000_000, Relaxed);
        aggregates.extend(aggregates_in(&test_memory.pass().1));
    }
    assert_eq!(aggregates.len(), 1);
    live(&coroutine, 100);
    test_memory.put_u32(GENERATION, 3); // as if a coroutine took the station and never finished that
    let records = test_memory.finish();
    assert_eq!(aggregates_in(&records), []);
    assert!(tallies_in(&records)[0].inexact);
    std::mem::forget(coroutine);
}
