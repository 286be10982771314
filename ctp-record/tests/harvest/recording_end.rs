//! The end of a recording while the program goes on, and recordings that are read long after their end.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::create::Recording;
use ctp_nostd::{Coroutine, Local, Platform, Probe, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::TraceModel;
use ctp_trace::record::{Event, Nanos, Record};

use crate::lanes::memory;
use crate::reaped_stations;
use crate::test_memory::{
    Bare, RecordBuffer, SingleProcess, TestMemory, births_in, events_in, tallies_in,
};

/// A platform with one thread, for one test.
struct SingleThread<const TEST: usize>;

static NOW: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static LOCALS: [Local; 3] = [const { Local::new() }; 3];

#[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
// SAFETY: only the test's thread uses this platform, and it chooses the `Local`.
unsafe impl<const TEST: usize> Platform for SingleThread<TEST> {
    fn now_ns() -> u64 {
        NOW[TEST].fetch_add(1, Relaxed) + 1
    }

    fn thread() -> u64 {
        7
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        Some(&LOCALS[TEST])
    }
}

fn live<P: Platform>(coroutine: &Coroutine<P>, rounds: u64) {
    for round in 0..rounds {
        coroutine.run();
        coroutine.suspend(Wait::user(round));
    }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.n).collect()
}

fn thread_events_in(records: &[Record]) -> usize {
    records
        .iter()
        .filter(|record| matches!(record, Record::ThreadEvent(_)))
        .count()
}

// CT-02
#[test]
fn thread_events_after_the_end_are_neither_recorded_nor_lost() {
    let region = memory(1);
    let probe: Probe<SingleThread<0>> = Probe::new(region, 1);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::clocked(0, || NOW[0].load(Relaxed));
    let task = probe.born("goes on");
    live(&task, 10);
    harvest.pass(&region, &mut outside, &mut buffer);
    live(&task, 10);
    harvest.stop(&region);
    let over_ns = NOW[0].load(Relaxed);
    task.waker().wake();
    // More events than its lane has room for, and far more than its station.
    live(&task, 500);
    std::mem::forget(probe.born("too late"));
    harvest.finish(&region, &mut outside, &mut buffer);
    let (events, event_counts) = (events_in(&buffer.0), tallies_in(&buffer.0)[0]);
    assert_eq!(numbers(&events), (0..41).collect::<Vec<u64>>());
    assert!(events.iter().all(|event| event.at.0 <= over_ns));
    assert_eq!((event_counts.attempted, event_counts.recorded), (41, 41));
    assert_eq!(
        (event_counts.torn, event_counts.wakers, event_counts.inexact),
        (None, None, false)
    );
    assert_eq!(
        (births_in(&buffer.0).len(), thread_events_in(&buffer.0)),
        (1, 1)
    );
    let totals = harvest.totals();
    assert_eq!((totals.lost, totals.crowded_out), (0, 0));
    std::mem::forget(task);
}

// CT-02
#[test]
fn reading_after_the_end_does_not_ask_the_clock_for_each_event() {
    static CLOCK_READINGS: AtomicU64 = AtomicU64::new(0);
    let region = memory(1);
    let probe: Probe<SingleThread<2>> = Probe::new(region, 1);
    let mut harvest = Harvest::clocked(0, || {
        CLOCK_READINGS.fetch_add(1, Relaxed);
        NOW[2].load(Relaxed)
    });
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let task = probe.born("long since unread");
    harvest.pass(&region, &mut outside, &mut buffer);
    NOW[2].store(60_000_000_000, Relaxed);
    live(&task, 50);
    harvest.stop(&region);
    let before = CLOCK_READINGS.load(Relaxed);
    harvest.finish(&region, &mut outside, &mut buffer);
    assert_eq!(events_in(&buffer.0).len(), 1 + 2 * 50);
    assert!(CLOCK_READINGS.load(Relaxed) - before < 10);
}

// CT-02
#[test]
fn only_events_missing_in_lanes_at_the_end_are_lost() {
    let region = reaped_stations::memory(1, &Recording::default());
    let probe: Probe<SingleThread<1>> = Probe::new(region, 1);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::clocked(0, || NOW[1].load(Relaxed));
    let task = probe.born("goes on");
    live(&task, 2);
    harvest.pass(&region, &mut outside, &mut buffer);
    live(&task, 3);
    harvest.stop(&region);
    live(&task, 500);
    harvest.finish(&region, &mut outside, &mut buffer);
    let event_counts = tallies_in(&buffer.0)[0];
    assert_eq!(numbers(&events_in(&buffer.0)), [0, 1, 2, 3, 4]);
    assert_eq!((event_counts.attempted, event_counts.recorded), (11, 5));
    assert_eq!(harvest.totals().lost, 6);
    std::mem::forget(task);
}

const HEAD: usize = 1024 + 0x240;

// CT-03
#[test]
fn event_during_which_a_program_died_is_recorded_if_whole() {
    let mut test_memory = TestMemory::clocked(0, || u64::MAX / 2);
    let task = test_memory.born("died");
    live(&task, 3);
    test_memory.put_u64(HEAD, 6);
    test_memory.stop();
    std::mem::forget(task);
    let records = test_memory.finish();
    assert_eq!(numbers(&events_in(&records)), (0..7).collect::<Vec<u64>>());
    assert_eq!(tallies_in(&records)[0].attempted, 7);
}

// CT-02
#[test]
fn wake_after_the_end_is_not_recorded() {
    let mut test_memory = TestMemory::clocked(0, Bare::now_ns);
    let task = test_memory.born("waits");
    live(&task, 1);
    let waker = task.waker();
    test_memory.stop();
    waker.wake();
    let records = test_memory.finish();
    let is_woken = |record: &Record| matches!(record, Record::Wake(wake) if 0 < wake.count);
    assert!(!records.iter().any(is_woken));
    assert_eq!(tallies_in(&records)[0].wakers, None);
    std::mem::forget(task);
}

static LATE_NS: AtomicU64 = AtomicU64::new(0);

// CT-03, AGG-17
#[test]
fn totals_read_long_after_the_end_are_not_dated_later() {
    const HOUR: u64 = 3_600_000_000_000;
    let mut test_memory = TestMemory::summing_up_by(|| LATE_NS.load(Relaxed));
    LATE_NS.store(HOUR, Relaxed);
    let task = test_memory.born("ended");
    live(&task, 20);
    std::mem::forget(task);
    let records = test_memory.finish();
    let last = events_in(&records).last().expect("its slots are there").at;
    let mut trace_model = TraceModel::new();
    for record in &records {
        trace_model.consume(record);
    }
    assert!(Nanos(0) < last && last < Nanos(HOUR));
    assert_eq!(trace_model.end_at(), last);
    let mut aggregates = records
        .iter()
        .filter(|record| matches!(record, Record::Aggregate(_)));
    assert!(aggregates.next().is_some());
}
