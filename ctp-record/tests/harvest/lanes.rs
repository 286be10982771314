//! Lanes: what several threads recorded, put together.
#![allow(unsafe_code, reason = "lays out a memory with lanes")]

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::lane::{DeedKind, Payload};
use ctp_nostd::layout::Lane;
use ctp_nostd::{Coroutine, Local, Platform, Probe, Region, Wait};
use ctp_record::harvest::{Harvest, Numbers, Outside, Peer, Sink};
use ctp_trace::record::{Act, CoroutineId, Event, ProcessId, Record, SiteId, Tally};

use crate::desk::{Nowhere, Tray, events_in, tallies_in};

const THREADS: usize = 3;

/// A place with threads that take turns, as each test says. Tests run apart, so each has its own.
pub struct Stage<const TEST: usize>;

static LOCALS: [[Local; THREADS]; 21] = [const { [const { Local::new() }; THREADS] }; 21];
static ON_STAGE: [AtomicUsize; 21] = [const { AtomicUsize::new(0) }; 21];
/// What its clock said last.
pub static NOW: [AtomicU64; 21] = [const { AtomicU64::new(0) }; 21];

// SAFETY: the thread of the test, which is the only one to use this platform, chooses the `Local`.
unsafe impl<const TEST: usize> Platform for Stage<TEST> {
    fn now_ns() -> u64 {
        NOW[TEST].fetch_add(1, Relaxed) + 1
    }

    /// From 1.
    fn thread() -> u64 {
        ON_STAGE[TEST].load(Relaxed) as u64 + 1
    }

    fn ring() {}

    /// The first one has left when the last one comes.
    fn is_gone(thread: u32) -> bool {
        thread == 1 && Self::thread() == THREADS as u64
    }

    unsafe fn local() -> Option<&'static Local> {
        LOCALS[TEST].get(ON_STAGE[TEST].load(Relaxed))
    }
}

/// From now on this thread runs, from 1.
pub fn enter(test: usize, thread: usize) {
    ON_STAGE[test].store(thread - 1, Relaxed);
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
    unsafe { Region::create(base, bytes, plan, &Recording::default()) }.expect("it fits")
}

pub fn cycles<P: Platform>(task: &Coroutine<P>, count: u64) {
    for cycle in 0..count {
        task.run();
        task.suspend(Wait::user(cycle));
    }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.n).collect()
}

// CTP-08, LT-05
#[test]
fn events_of_a_coroutine_that_wanders_come_out_in_order() {
    const TEST: usize = 0;
    let region = memory(2);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let task = probe.born("wanderer");
    for turn in 0..10 {
        enter(TEST, 1 + turn % 2);
        cycles(&task, 3);
    }
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    Harvest::new(0).finish(&region, &mut nowhere, &mut tray);
    let events = events_in(&tray.0);
    assert_eq!(numbers(&events), (0..61).collect::<Vec<u64>>());
    let turns: Vec<u64> = events
        .chunk_by(|a, b| a.tid == b.tid)
        .map(|it| it[0].tid)
        .collect();
    assert_eq!(turns, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    assert_eq!(tallies_in(&tray.0)[0].attempted, 61);
}

/// A thread leaves a lane with two records that it began, the second one in a handler that came
/// amid the first, and another thread takes the lane.
fn abandoned<const TEST: usize>() -> (Region<'static>, Coroutine<Stage<TEST>>) {
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let task = probe.born("heir");
    cycles(&task, 10);
    let ring = region.ring(0).expect("there is one");
    let begin = || ring.reserve(Stage::<TEST>::now_ns).1;
    begin().expect("there is room");
    cycles(&task, 5);
    begin().expect("there is room");
    enter(TEST, THREADS);
    cycles(&task, 10);
    (region, task)
}

// LT-28
#[test]
fn records_that_a_dead_thread_began_hold_up_nobody() {
    let (region, _task) = abandoned::<1>();
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    for _ in 0..3 {
        harvest.pass(&region, &mut nowhere, &mut tray);
    }
    let events = events_in(&tray.0);
    assert_eq!(numbers(&events), (0..51).collect::<Vec<u64>>());
    assert_eq!(events[30].tid, 1);
    assert_eq!(events[31].tid, THREADS as u64, "the lane says whose it is");
}

// LT-15, LT-28
#[test]
fn at_the_end_such_records_are_passed_over_at_once() {
    let (region, _task) = abandoned::<2>();
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    Harvest::new(0).finish(&region, &mut nowhere, &mut tray);
    assert_eq!(numbers(&events_in(&tray.0)), (0..51).collect::<Vec<u64>>());
    assert_eq!(tallies_in(&tray.0)[0].recorded, 51);
}

/// Each deed, with how many events the trace had before it.
fn deeds_in(records: &[Record]) -> Vec<(usize, u64, Act)> {
    let is_event = |record: &&Record| matches!(record, Record::Event(_));
    let deed = |(at, record): (usize, &Record)| match record {
        Record::Deed(deed) => {
            let events = records[..at].iter().filter(is_event).count();
            Some((events, deed.tid, deed.act))
        }
        _ => None,
    };
    records.iter().enumerate().filter_map(deed).collect()
}

// CTP-34, LT-28
#[test]
fn what_a_thread_is_amid_is_read_once_it_is_done_also_where_another_process_dies_meanwhile() {
    const TEST: usize = 14;
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let task = probe.born("lives on");
    cycles(&task, 3);
    let ring = region.ring(0).expect("there is one");
    let (at_ns, begun) = ring.reserve(Stage::<TEST>::now_ns);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    harvest.pass(&region, &mut nowhere, &mut tray);
    harvest.reap(ProcessId(2), &region, &mut nowhere, &mut tray);
    let close = Payload {
        kind: DeedKind::Close as u8,
        ..Payload::default()
    };
    begun.expect("there is room").commit(at_ns, close);
    harvest.pass(&region, &mut nowhere, &mut tray);
    let last = deeds_in(&tray.0).pop().map(|(_, _, act)| act);
    assert!(matches!(last, Some(Act::Close(_))), "{last:?}");
}

// LT-07
#[test]
fn a_loss_is_told_at_its_place_and_before_the_next_thread() {
    const TEST: usize = 3;
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    let mut drain = || {
        for _ in 0..3 {
            harvest.pass(&region, &mut nowhere, &mut tray);
        }
    };
    let task = probe.born("hot");
    // Of the ring's 128 records one says whose it is, one is the birth: 126 are left.
    cycles(&task, 63 + 5);
    drain();
    // One of them tells of the loss.
    cycles(&task, 63 + 2);
    drain();
    enter(TEST, THREADS);
    cycles(&task, 2);
    drain();
    // Slots made up for eight of the ten, and for all of the three.
    let (first, second) = (1 + 2 * 63 + 8, 127 + 3);
    let expected = [
        (0, 1, Act::Begin),
        (first, 1, Act::Loss(10)),
        (first + second, 1, Act::Loss(3)),
        (first + second, THREADS as u64, Act::Begin),
    ];
    assert_eq!(deeds_in(&tray.0), expected);
}

// LT-07, LT-16
#[test]
fn a_count_of_losses_that_goes_back_tells_of_none() {
    const TEST: usize = 15;
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let _loser = probe.born("loser");
    let ring = region.ring(0).expect("there is one");
    // The lane itself says that nothing was lost.
    for lost in [5, 3, 7] {
        let (at_ns, begun) = ring.reserve(Stage::<TEST>::now_ns);
        let loss = Payload {
            kind: DeedKind::Loss as u8,
            n: lost,
            ..Payload::default()
        };
        begun.expect("there is room").commit(at_ns, loss);
    }
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    Harvest::new(0).finish(&region, &mut nowhere, &mut tray);
    let told = deeds_in(&tray.0).into_iter().map(|(_, _, act)| act);
    assert_eq!(
        told.collect::<Vec<_>>(),
        [Act::Begin, Act::Loss(5), Act::Loss(2)]
    );
}

/// What two threads did, after somebody has written these words all over the second one's lane: the events
/// of the first, and how many lanes are said to be damaged and how many losses without a number told.
fn beside_a_vandal<const TEST: usize>(
    words: impl Iterator<Item = u64>,
) -> (Vec<Event>, u32, usize) {
    let region = memory(2);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (sane, victim) = (probe.born("sane"), probe.born("victim"));
    cycles(&sane, 20);
    enter(TEST, 2);
    cycles(&victim, 20);
    let (lane, records) = (&raw const region.lanes[1], &region.records[128..]);
    let lane_words = words_of(lane.cast(), size_of::<Lane>());
    let record_words = words_of(records.as_ptr().cast(), size_of_val(records));
    for (place, word) in lane_words.iter().chain(record_words).zip(words) {
        place.store(word, Relaxed);
    }
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    (0..3).for_each(|_| {
        harvest.pass(&region, &mut nowhere, &mut tray);
    });
    harvest.finish(&region, &mut nowhere, &mut tray);
    // A site has an id in the first memory that it was used with: which one that is depends on other tests.
    let of_the_sane = events_in(&tray.0).into_iter().map(|event| Event {
        site: SiteId::default(),
        ..event
    });
    let of_the_sane = of_the_sane.filter(|it| it.tid == 1);
    let is_loss = |it: &&Record| matches!(it, Record::Deed(deed) if deed.act == Act::Loss(0));
    let losses = tray.0.iter().filter(is_loss).count();
    let damaged = harvest.totals().damaged_lanes;
    (of_the_sane.collect(), damaged, losses)
}

fn words_of(start: *const AtomicU64, bytes: usize) -> &'static [AtomicU64] {
    // SAFETY: within the leaked memory, which consists of atomics.
    unsafe { std::slice::from_raw_parts(start, bytes / 8) }
}

/// Numbers without order, by the generator of Numerical Recipes.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let next = |it: &u64| {
        Some(
            it.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    };
    std::iter::successors(Some(seed), next).skip(1)
}

// LT-16, LT-32, CT-24
#[test]
fn noise_in_one_lane_changes_nothing_of_another_and_is_told() {
    let (undisturbed, damaged, losses) = beside_a_vandal::<4>(std::iter::empty());
    assert_eq!((undisturbed.len(), damaged, losses), (42, 0, 0));
    assert_eq!(beside_a_vandal::<5>(noise(1)), (undisturbed.clone(), 1, 1));
    assert_eq!(beside_a_vandal::<6>(noise(2)), (undisturbed.clone(), 1, 1));
    assert_eq!(beside_a_vandal::<7>(noise(3)), (undisturbed, 1, 1));
}

// LT-28
#[test]
fn a_thread_that_stands_still_amid_a_record_holds_up_nobody_and_may_go_on() {
    const TEST: usize = 8;
    let region = memory(2);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (stopped, other) = (probe.born("stopped"), probe.born("other"));
    cycles(&stopped, 1);
    let ring = region.ring(0).expect("there is one");
    let (at, place) = ring.reserve(Stage::<TEST>::now_ns);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    enter(TEST, 2);
    for so_far in 1..=5 {
        cycles(&other, 1);
        harvest.pass(&region, &mut nowhere, &mut tray);
        let others = events_in(&tray.0).into_iter().filter(|it| it.tid == 2);
        assert_eq!(others.count(), 2 * so_far);
    }
    let void = Payload {
        kind: DeedKind::Void as u8,
        ..Payload::default()
    };
    place.expect("there is room").commit(at, void);
    enter(TEST, 1);
    cycles(&stopped, 1);
    harvest.finish(&region, &mut nowhere, &mut tray);
    let of_the_stopped = |it: &Event| it.coroutine == CoroutineId(1);
    let events: Vec<Event> = events_in(&tray.0)
        .into_iter()
        .filter(of_the_stopped)
        .collect();
    assert_eq!(numbers(&events), [0, 1, 2, 3, 4]);
}

/// When a process is asked for the first time, this one of its coroutines runs in a thread with a lane, and
/// ends.
struct Amid<P: Platform>(Numbers, Option<Coroutine<P>>);

/// So many cycles.
const AMID: u64 = 20;

/// A thread that is given no lane.
pub const LANELESS: usize = THREADS + 1;

impl<P: Platform> Outside for Amid<P> {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.0
    }

    fn process(&mut self, _: Peer, _: &mut dyn Sink) -> ProcessId {
        if let Some(task) = self.1.take() {
            cycles(&task, AMID);
        }
        ProcessId(1)
    }

    fn is_text(&mut self, _: ProcessId, _: u64, _: &mut dyn Sink) -> bool {
        false
    }
}

// LT-07
#[test]
fn the_first_lane_of_all_may_come_amid_a_pass() {
    const TEST: usize = 9;
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    enter(TEST, LANELESS);
    let (_first, second) = (probe.born("first"), probe.born("second"));
    enter(TEST, 1);
    let (mut amid, mut tray) = (Amid(Numbers::default(), Some(second)), Tray::default());
    let mut harvest = Harvest::new(0);
    harvest.pass(&region, &mut amid, &mut tray);
    harvest.finish(&region, &mut amid, &mut tray);
    let is_of_second = |it: &&Event| it.coroutine == CoroutineId(2);
    let events = events_in(&tray.0);
    let numbers: Vec<u64> = events.iter().filter(is_of_second).map(|it| it.n).collect();
    // Its birth was told by a thread without a lane, and written over before anybody looked.
    assert_eq!(numbers, (1..=2 * AMID + 1).collect::<Vec<u64>>());
    assert_eq!(harvest.totals().lost, 1);
}

// LT-07
#[test]
fn what_is_told_in_a_first_lane_amid_a_look_at_its_station_is_read_there() {
    const TEST: usize = 10;
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    enter(TEST, LANELESS);
    let task = probe.born("task");
    enter(TEST, 1);
    let (mut amid, mut tray) = (Amid(Numbers::default(), Some(task)), Tray::default());
    let mut harvest = Harvest::new(0);
    harvest.pass(&region, &mut amid, &mut tray);
    harvest.finish(&region, &mut amid, &mut tray);
    let events = numbers(&events_in(&tray.0));
    assert_eq!(events, (1..=2 * AMID + 1).collect::<Vec<u64>>());
    assert_eq!(harvest.totals().lost, 1, "its birth");
}

// LT-05, LT-07
#[test]
fn a_lane_may_be_by_a_clock_that_is_ahead() {
    const TEST: usize = 11;
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    NOW[TEST].store(1_000_000, Relaxed);
    let task = probe.born("task");
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::clocked(0, || 1_000);
    for _ in 0..6 {
        cycles(&task, 6);
        harvest.pass(&region, &mut nowhere, &mut tray);
    }
    harvest.finish(&region, &mut nowhere, &mut tray);
    assert_eq!(numbers(&events_in(&tray.0)), (0..=72).collect::<Vec<u64>>());
    assert_eq!(harvest.totals().lost, 0);
}

// LT-16
#[test]
fn a_time_that_cannot_be_holds_up_nobody_who_has_no_lane() {
    const TEST: usize = 13;
    let region = memory(1);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let _in_a_lane = probe.born("in a lane");
    enter(TEST, LANELESS);
    let without = probe.born("without");
    let ring = region.ring(0).expect("there is one");
    let (at, place) = ring.reserve(|| u64::MAX / 2);
    place.expect("there is room").commit(at, Payload::default());
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::clocked(0, || 1_000_000);
    for _ in 0..20 {
        cycles(&without, 1);
        harvest.pass(&region, &mut nowhere, &mut tray);
    }
    harvest.finish(&region, &mut nowhere, &mut tray);
    let is_its = |it: &&Event| it.coroutine == CoroutineId(2);
    let events = events_in(&tray.0);
    let its: Vec<u64> = events.iter().filter(is_its).map(|it| it.n).collect();
    assert_eq!(its, (0..=40).collect::<Vec<u64>>());
}

// CTP-22, LT-05
#[test]
fn stations_of_the_dead_are_for_others_also_while_lanes_have_more_to_give() {
    const TEST: usize = 16;
    let region = memory_of(Plan {
        stations: 600,
        lanes: 1,
        lane_records: 1 << 14,
        short_lanes: 0,
    });
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let task = probe.born("lives");
    (1..600).for_each(|_| drop(probe.born("brief")));
    cycles(&task, 5_000);
    assert_eq!(probe.born("too many").id(), 0);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    let found = harvest.pass(&region, &mut nowhere, &mut tray);
    assert!(found.is_cut_short);
    let all_free = (1..600).all(|_| probe.born("next").id() != 0);
    assert!(all_free);
    harvest.finish(&region, &mut nowhere, &mut tray);
    let tallies = tallies_in(&tray.0);
    let is_whole = |it: &Tally| it.attempted == it.recorded && !it.inexact;
    assert!(tallies.len() == 1_199 && tallies.iter().all(is_whole));
}
