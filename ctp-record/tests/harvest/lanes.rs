//! Lanes: records of several threads, merged.
#![allow(unsafe_code, reason = "lays out a memory with lanes")]

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::lane::{Payload, ThreadEventKind};
use ctp_nostd::layout::Lane;
use ctp_nostd::{Coroutine, Local, Platform, Probe, Region, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::{Act, CoroutineId, Event, EventCounts, ProcessId, Record, SiteId};

use crate::test_memory::{RecordBuffer, SingleProcess, events_in, tallies_in};

const THREADS: usize = 3;

/// A platform with threads that take turns, as the test says. Tests run in parallel, so each has its own.
pub struct TurnTaking<const TEST: usize>;

static LOCALS: [[Local; THREADS]; 22] = [const { [const { Local::new() }; THREADS] }; 22];
static CURRENT_THREAD: [AtomicUsize; 22] = [const { AtomicUsize::new(0) }; 22];
/// The latest reading of each platform's clock.
pub static NOW: [AtomicU64; 22] = [const { AtomicU64::new(0) }; 22];

// SAFETY: only the test's thread uses this platform, and it chooses the `Local`.
unsafe impl<const TEST: usize> Platform for TurnTaking<TEST> {
    fn now_ns() -> u64 {
        NOW[TEST].fetch_add(1, Relaxed) + 1
    }

    /// Threads are numbered from 1.
    fn thread() -> u64 {
        CURRENT_THREAD[TEST].load(Relaxed) as u64 + 1
    }

    fn ring() {}

    /// The first thread has exited when the last one runs.
    fn has_exited(thread: u32) -> bool {
        thread == 1 && Self::thread() == THREADS as u64
    }

    unsafe fn local() -> Option<&'static Local> {
        LOCALS[TEST].get(CURRENT_THREAD[TEST].load(Relaxed))
    }
}

/// Switches to this thread, numbered from 1.
pub fn switch_to_thread(test: usize, thread: usize) {
    CURRENT_THREAD[test].store(thread - 1, Relaxed);
}

#[repr(align(1024))]
struct Kib(#[expect(dead_code, reason = "room")] [u8; 1024]);

pub fn memory(lanes: u32) -> Region<'static> {
    memory_of(Plan {
        stations: 2,
        lanes,
        lane_records: 128,
        short_lanes: 0,
    })
}

pub fn memory_of(plan: Plan) -> Region<'static> {
    let kibs = (0..plan.bytes().div_ceil(1024)).map(|_| Kib([0; 1024]));
    let memory: &'static mut [Kib] = Vec::leak(kibs.collect());
    let (base, bytes) = (memory.as_mut_ptr().cast(), memory.len() * 1024);
    // SAFETY: zeroed, aligned, leaked, and touched by nothing but this region.
    unsafe { Region::create(base, bytes, plan, &Recording::default()) }.expect("large enough")
}

pub fn cycles<P: Platform>(task: &Coroutine<P>, count: u64) {
    for cycle in 0..count {
        task.run();
        task.suspend(Wait::user(cycle));
    }
}

pub fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.n).collect()
}

// CTP-08, LT-05
#[test]
fn events_of_a_migrating_coroutine_are_in_order() {
    const TEST: usize = 0;
    let region = memory(2);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let task = probe.born("wanderer");
    for turn in 0..10 {
        switch_to_thread(TEST, 1 + turn % 2);
        cycles(&task, 3);
    }
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    Harvest::new(0).finish(&region, &mut outside, &mut buffer);
    let events = events_in(&buffer.0);
    assert_eq!(numbers(&events), (0..61).collect::<Vec<u64>>());
    let turns: Vec<u64> = events
        .chunk_by(|before, after| before.tid == after.tid)
        .map(|turn| turn[0].tid)
        .collect();
    assert_eq!(turns, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    assert_eq!(tallies_in(&buffer.0)[0].attempted, 61);
}

/// A lane of a dead thread that reserved two records without committing them, the second in a nested handler.
/// Another thread has taken the lane.
fn abandoned<const TEST: usize>() -> (Region<'static>, Coroutine<TurnTaking<TEST>>) {
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let task = probe.born("heir");
    cycles(&task, 10);
    let ring = region.ring(0).expect("the memory has a lane");
    let begin = || ring.reserve(TurnTaking::<TEST>::now_ns).1;
    begin().expect("there is room");
    cycles(&task, 5);
    begin().expect("there is room");
    switch_to_thread(TEST, THREADS);
    cycles(&task, 10);
    (region, task)
}

// LT-28
#[test]
fn pending_records_of_a_dead_thread_delay_no_others() {
    let (region, _task) = abandoned::<1>();
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    for _ in 0..3 {
        harvest.pass(&region, &mut outside, &mut buffer);
    }
    let events = events_in(&buffer.0);
    assert_eq!(numbers(&events), (0..51).collect::<Vec<u64>>());
    assert_eq!(events[30].tid, 1);
    assert_eq!(events[31].tid, THREADS as u64, "by the lane's begin record");
}

// LT-15, LT-28
#[test]
fn pending_records_of_a_dead_thread_are_skipped_at_the_end() {
    let (region, _task) = abandoned::<2>();
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    Harvest::new(0).finish(&region, &mut outside, &mut buffer);
    assert_eq!(
        numbers(&events_in(&buffer.0)),
        (0..51).collect::<Vec<u64>>()
    );
    assert_eq!(tallies_in(&buffer.0)[0].recorded, 51);
}

/// Each thread event, with how many events the trace had before it.
fn thread_events_in(records: &[Record]) -> Vec<(usize, u64, Act)> {
    records
        .iter()
        .enumerate()
        .filter_map(|(at, record)| match record {
            Record::ThreadEvent(thread_event) => {
                let events = records[..at]
                    .iter()
                    .filter(|record| matches!(record, Record::Event(_)))
                    .count();
                Some((events, thread_event.tid, thread_event.act))
            }
            _ => None,
        })
        .collect()
}

// CTP-34, LT-28
#[test]
fn pending_record_is_read_after_another_process_was_reaped() {
    const TEST: usize = 14;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let task = probe.born("lives on");
    cycles(&task, 3);
    let ring = region.ring(0).expect("the memory has a lane");
    let (at_ns, reserved) = ring.reserve(TurnTaking::<TEST>::now_ns);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    harvest.pass(&region, &mut outside, &mut buffer);
    harvest.reap(ProcessId(2), &region, &mut outside, &mut buffer);
    let close = Payload {
        kind: ThreadEventKind::Close as u8,
        ..Payload::default()
    };
    reserved.expect("there is room").commit(at_ns, close);
    harvest.pass(&region, &mut outside, &mut buffer);
    let last = thread_events_in(&buffer.0).pop().map(|(_, _, act)| act);
    assert!(matches!(last, Some(Act::Close(_))), "{last:?}");
}

// LT-07
#[test]
fn loss_is_recorded_in_order_and_before_the_next_thread() {
    const TEST: usize = 3;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    let mut drain = || {
        for _ in 0..3 {
            harvest.pass(&region, &mut outside, &mut buffer);
        }
    };
    let task = probe.born("hot");
    // Of the lane's 128 records, the first states the thread and the second is the birth: 126 are left.
    cycles(&task, 63 + 5);
    drain();
    // Among these records is the record of the loss.
    cycles(&task, 63 + 2);
    drain();
    switch_to_thread(TEST, THREADS);
    cycles(&task, 2);
    drain();
    // Slots made up for eight of the ten records, and for all of the three.
    let (first, second) = (1 + 2 * 63 + 8, 127 + 3);
    let expected = [
        (0, 1, Act::Begin),
        (first, 1, Act::Loss(10)),
        (first + second, 1, Act::Loss(3)),
        (first + second, THREADS as u64, Act::Begin),
    ];
    assert_eq!(thread_events_in(&buffer.0), expected);
}

// LT-07, LT-16
#[test]
fn decreasing_count_of_losses_adds_no_loss() {
    const TEST: usize = 15;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let _loser = probe.born("loser");
    let ring = region.ring(0).expect("the memory has a lane");
    // The lane itself says that nothing was lost.
    for lost in [5, 3, 7] {
        let (at_ns, reserved) = ring.reserve(TurnTaking::<TEST>::now_ns);
        let loss = Payload {
            kind: ThreadEventKind::Loss as u8,
            n: lost,
            ..Payload::default()
        };
        reserved.expect("there is room").commit(at_ns, loss);
    }
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    Harvest::new(0).finish(&region, &mut outside, &mut buffer);
    let thread_events = thread_events_in(&buffer.0)
        .into_iter()
        .map(|(_, _, act)| act);
    assert_eq!(
        thread_events.collect::<Vec<_>>(),
        [Act::Begin, Act::Loss(5), Act::Loss(2)]
    );
}

/// Two threads record, then `words` overwrite the second thread's lane. Returns the events of the first
/// thread, the number of damaged lanes, and the number of losses without a count.
fn with_overwritten_lane<const TEST: usize>(
    words: impl Iterator<Item = u64>,
) -> (Vec<Event>, u32, usize) {
    let region = memory(2);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (sane, victim) = (probe.born("sane"), probe.born("victim"));
    cycles(&sane, 20);
    switch_to_thread(TEST, 2);
    cycles(&victim, 20);
    let (lane, records) = (&raw const region.lanes[1], &region.records[128..]);
    let lane_words = words_of(lane.cast(), size_of::<Lane>());
    let record_words = words_of(records.as_ptr().cast(), size_of_val(records));
    for (place, word) in lane_words.iter().chain(record_words).zip(words) {
        place.store(word, Relaxed);
    }
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    (0..3).for_each(|_| {
        harvest.pass(&region, &mut outside, &mut buffer);
    });
    harvest.finish(&region, &mut outside, &mut buffer);
    // Site ids are global and depend on other tests, so they are not compared.
    let of_the_sane = events_in(&buffer.0).into_iter().map(|event| Event {
        site: SiteId::default(),
        ..event
    });
    let of_the_sane = of_the_sane.filter(|event| event.tid == 1);
    let is_loss = |record: &&Record| matches!(record, Record::ThreadEvent(thread_event) if thread_event.act == Act::Loss(0));
    let losses = buffer.0.iter().filter(is_loss).count();
    let damaged = harvest.totals().damaged_lanes;
    (of_the_sane.collect(), damaged, losses)
}

fn words_of(start: *const AtomicU64, bytes: usize) -> &'static [AtomicU64] {
    // SAFETY: within the leaked memory, which consists of atomics.
    unsafe { std::slice::from_raw_parts(start, bytes / 8) }
}

/// Pseudo-random numbers, by the generator of Numerical Recipes.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |state| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    })
    .skip(1)
}

// LT-16, LT-32, CT-24
#[test]
fn noise_in_a_lane_is_reported_and_changes_no_other_lane() {
    let (undisturbed, damaged, losses) = with_overwritten_lane::<4>(std::iter::empty());
    assert_eq!((undisturbed.len(), damaged, losses), (42, 0, 0));
    assert_eq!(
        with_overwritten_lane::<5>(noise(1)),
        (undisturbed.clone(), 1, 1)
    );
    assert_eq!(
        with_overwritten_lane::<6>(noise(2)),
        (undisturbed.clone(), 1, 1)
    );
    assert_eq!(with_overwritten_lane::<7>(noise(3)), (undisturbed, 1, 1));
}

// LT-28
#[test]
fn pending_record_delays_no_others_and_may_be_committed_later() {
    const TEST: usize = 8;
    let region = memory(2);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let (stopped, other) = (probe.born("stopped"), probe.born("other"));
    cycles(&stopped, 1);
    let ring = region.ring(0).expect("the memory has a lane");
    let (at, place) = ring.reserve(TurnTaking::<TEST>::now_ns);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    switch_to_thread(TEST, 2);
    for so_far in 1..=5 {
        cycles(&other, 1);
        harvest.pass(&region, &mut outside, &mut buffer);
        let others = events_in(&buffer.0)
            .into_iter()
            .filter(|event| event.tid == 2);
        assert_eq!(others.count(), 2 * so_far);
    }
    let void = Payload {
        kind: ThreadEventKind::Cancelled as u8,
        ..Payload::default()
    };
    place.expect("there is room").commit(at, void);
    switch_to_thread(TEST, 1);
    cycles(&stopped, 1);
    harvest.finish(&region, &mut outside, &mut buffer);
    let events: Vec<Event> = events_in(&buffer.0)
        .into_iter()
        .filter(|event| event.coroutine == CoroutineId(1))
        .collect();
    assert_eq!(numbers(&events), [0, 1, 2, 3, 4]);
}

/// A thread that gets no lane.
pub const LANELESS: usize = THREADS + 1;

// LT-05, LT-07
#[test]
fn lane_may_use_a_clock_that_is_ahead() {
    const TEST: usize = 11;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    NOW[TEST].store(1_000_000, Relaxed);
    let task = probe.born("task");
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::clocked(0, || 1_000);
    for _ in 0..6 {
        cycles(&task, 6);
        harvest.pass(&region, &mut outside, &mut buffer);
    }
    harvest.finish(&region, &mut outside, &mut buffer);
    assert_eq!(
        numbers(&events_in(&buffer.0)),
        (0..=72).collect::<Vec<u64>>()
    );
    assert_eq!(harvest.totals().lost, 0);
}

// LT-16
#[test]
fn impossible_time_in_a_lane_does_not_delay_a_laneless_thread() {
    const TEST: usize = 13;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let _in_a_lane = probe.born("in a lane");
    switch_to_thread(TEST, LANELESS);
    let without = probe.born("without");
    let ring = region.ring(0).expect("the memory has a lane");
    let (at, place) = ring.reserve(|| u64::MAX / 2);
    place.expect("there is room").commit(at, Payload::default());
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::clocked(0, || 1_000_000);
    for _ in 0..20 {
        cycles(&without, 1);
        harvest.pass(&region, &mut outside, &mut buffer);
    }
    harvest.finish(&region, &mut outside, &mut buffer);
    let is_own = |event: &&Event| event.coroutine == CoroutineId(2);
    let events = events_in(&buffer.0);
    let own: Vec<u64> = events.iter().filter(is_own).map(|event| event.n).collect();
    assert_eq!(own, (0..=40).collect::<Vec<u64>>());
}

// CTP-22, LT-05
#[test]
fn stations_of_ended_coroutines_become_free_during_overload() {
    const TEST: usize = 16;
    let region = memory_of(Plan {
        stations: 600,
        lanes: 1,
        lane_records: 1 << 14,
        short_lanes: 0,
    });
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let task = probe.born("lives");
    (1..600).for_each(|_| drop(probe.born("brief")));
    cycles(&task, 5_000);
    assert_eq!(probe.born("too many").id(), 0);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    let found = harvest.pass(&region, &mut outside, &mut buffer);
    assert!(found.is_cut_short);
    let all_free = (1..600).all(|_| probe.born("next").id() != 0);
    assert!(all_free);
    harvest.finish(&region, &mut outside, &mut buffer);
    let tallies = tallies_in(&buffer.0);
    let is_whole = |event_counts: &EventCounts| {
        event_counts.attempted == event_counts.recorded && !event_counts.inexact
    };
    assert!(tallies.len() == 1_199 && tallies.iter().all(is_whole));
}
