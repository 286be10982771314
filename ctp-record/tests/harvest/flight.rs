//! Snapshots of a memory in which old records are overwritten.
#![allow(
    unsafe_code,
    reason = "lends a memory to a program that ends before the memory does"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use ctp_nostd::aggregate::{Bins, MODE_FLIGHT};
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::lane::{Payload, ThreadEventKind};
use ctp_nostd::{Local, Platform, Probe, Region, Wait};
use ctp_record::harvest::Harvest;
use ctp_record::{
    FlightHistory, Memory, RecordingEnd, SnapshotSummary, last_snapshot_of, snapshot_of,
};
use ctp_trace::TraceModel;
use ctp_trace::record::{Act, Event, Nanos, Record};

use crate::test_memory::{RecordBuffer, SingleProcess, events_in, tallies_in};

const RECORDS: u64 = 32;

/// A platform with two threads that take turns. Tests run in parallel, so each has its own.
struct TurnTaking<const TEST: usize>;

static CURRENT_THREAD: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];
static LOCALS: [[Local; 2]; 5] = [const { [const { Local::new() }; 2] }; 5];
static NOW: [AtomicU64; 5] = [const { AtomicU64::new(1) }; 5];

// SAFETY: only the test's thread uses this platform, and it chooses the `Local`.
unsafe impl<const TEST: usize> Platform for TurnTaking<TEST> {
    fn now_ns() -> u64 {
        NOW[TEST].fetch_add(1, Relaxed)
    }

    fn thread() -> u64 {
        CURRENT_THREAD[TEST].load(Relaxed) as u64 + 1
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        LOCALS[TEST].get(CURRENT_THREAD[TEST].load(Relaxed))
    }
}

fn memory() -> Arc<Memory> {
    let plan = Plan {
        stations: 2,
        lanes: 2,
        lane_records: RECORDS as u32,
        short_lanes: 0,
    };
    let recording = Recording {
        mode: MODE_FLIGHT,
        ..Recording::default()
    };
    Arc::new(Memory::create(plan, &recording, false).expect("there is room"))
}

fn snapshot(memory: &Arc<Memory>) -> (SnapshotSummary, Vec<Record>) {
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let (mut harvest, mut history) = (Harvest::new(0).in_flight(0), FlightHistory::default());
    let summary = snapshot_of(
        memory,
        &mut harvest,
        &mut outside,
        &mut history,
        &mut buffer,
    );
    (summary, buffer.0)
}

fn cycles<const TEST: usize>(region: Region<'static>, thread: usize, count: u64) {
    CURRENT_THREAD[TEST].store(thread, Relaxed);
    let task = Probe::<TurnTaking<TEST>>::new(region, 1).born("one");
    for cycle in 0..count {
        task.run();
        task.suspend(Wait::user(cycle));
    }
    std::mem::forget(task);
}

// CTP-28, LT-32, CT-24
#[test]
fn damaged_lane_is_reported_and_the_other_lane_is_read() {
    let memory = memory();
    // SAFETY: the program has ended, and `memory` is held, when this test ends.
    let region: Region<'static> = unsafe { std::mem::transmute(memory.region()) };
    cycles::<0>(region, 0, 100);
    cycles::<0>(region, 1, 10);
    let (before, records) = snapshot(&memory);
    let sane = events_in(&records);
    assert_eq!((before.totals.damaged_lanes, before.totals.lanes), (0, 2));
    assert!(sane.iter().any(|event| event.tid == 1));

    let lane = (&raw const region.lanes[0]).cast::<AtomicU64>();
    // SAFETY: within the memory, which is made of atomics; the head is a lane's first word.
    unsafe { &*lane }.store(u64::MAX - 3, Relaxed);
    let (after, records) = snapshot(&memory);
    let events = events_in(&records);
    assert_eq!((after.totals.damaged_lanes, after.totals.lanes), (1, 2));
    let is_loss = |record: &&Record| matches!(record, Record::ThreadEvent(thread_event) if thread_event.act == Act::Loss(0));
    assert_eq!(records.iter().filter(is_loss).count(), 1);
    let of_the_other = |events: &[Event]| -> Vec<u64> {
        let own = events.iter().filter(|event| event.tid == 2);
        own.map(|event| event.n).collect()
    };
    assert_eq!(of_the_other(&events), of_the_other(&sane));
    assert_eq!(of_the_other(&events), (0..21).collect::<Vec<u64>>());
}

// LT-07, LT-16
#[test]
fn decreasing_count_of_losses_adds_no_loss() {
    let memory = memory();
    // SAFETY: the program has ended, and `memory` is held, when this test ends.
    let region: Region<'static> = unsafe { std::mem::transmute(memory.region()) };
    cycles::<2>(region, 0, 1);
    let ring = region.ring(0).expect("the memory has a lane");
    // The lane itself says that nothing was lost.
    for lost in [5, 3, 7] {
        let (at_ns, reserved) = ring.reserve(TurnTaking::<2>::now_ns);
        let loss = Payload {
            kind: ThreadEventKind::Loss as u8,
            n: lost,
            ..Payload::default()
        };
        reserved.expect("there is room").commit(at_ns, loss);
    }
    let (_, records) = snapshot(&memory);
    let losses = records.iter().filter_map(|record| match record {
        Record::ThreadEvent(thread_event) => {
            Some(thread_event.act).filter(|act| *act != Act::Begin)
        }
        _ => None,
    });
    assert_eq!(losses.collect::<Vec<_>>(), [Act::Loss(5), Act::Loss(2)]);
}

// CTP-22
#[test]
fn stations_of_ended_coroutines_are_reused() {
    let memory = memory();
    // SAFETY: the program has ended, and `memory` is held, when this test ends.
    let region: Region<'static> = unsafe { std::mem::transmute(memory.region()) };
    let probe = Probe::<TurnTaking<1>>::new(region, 1);
    let (mut outside, mut history) = (SingleProcess::default(), FlightHistory::default());
    let mut harvest = Harvest::new(0).summing_up(Bins::USUAL).in_flight(0);
    for _ in 0..10 {
        let task = probe.born("one of many");
        assert_ne!(task.id(), 0, "there is a free station");
        task.run();
        drop(task);
        harvest.pass(&region, &mut outside, &mut history);
    }
    assert_eq!(history.departed().len(), 10);
}

fn last_snapshot(memory: &Arc<Memory>, over: RecordingEnd) -> (SnapshotSummary, Vec<Record>) {
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0).summing_up(Bins::USUAL).in_flight(0);
    let summary = last_snapshot_of(
        memory,
        &mut harvest,
        &mut outside,
        &mut FlightHistory::default(),
        &mut buffer,
        over,
    );
    buffer.0.push(Record::End(summary.end));
    (summary, buffer.0)
}

/// The end to which a reader measures ages, which is also the end that the summary states.
fn end_of((summary, records): &(SnapshotSummary, Vec<Record>)) -> Nanos {
    let mut trace_model = TraceModel::new();
    for record in records {
        trace_model.consume(record);
    }
    assert_eq!(trace_model.end_at(), summary.end.at);
    summary.end.at
}

// CT-03
#[test]
fn late_snapshot_is_not_dated_later_than_the_end() {
    let memory = memory();
    // SAFETY: the program has ended, and `memory` is held, when this test ends.
    let region: Region<'static> = unsafe { std::mem::transmute(memory.region()) };
    cycles::<3>(region, 0, 10);
    let last = Nanos(NOW[3].load(Relaxed) - 1);
    let over = RecordingEnd {
        alive: Nanos(3),
        until: Nanos(1_000_000),
        length: Some(Nanos(5)),
    };
    let found = last_snapshot(&memory, over);
    assert_eq!(end_of(&found), last);
    assert_eq!(found.0.since, Nanos(last.0 - 5));
    // A program that was seen running later ended later.
    let seen = RecordingEnd {
        alive: Nanos(last.0 + 3),
        ..over
    };
    let found = last_snapshot(&memory, seen);
    assert_eq!(
        (end_of(&found), found.0.since),
        (seen.alive, Nanos(last.0 - 2))
    );
}

// CT-02, CT-03
#[test]
fn events_after_the_end_are_neither_in_a_snapshot_nor_lost() {
    let memory = memory();
    // SAFETY: the program has ended, and `memory` is held, when this test ends.
    let region: Region<'static> = unsafe { std::mem::transmute(memory.region()) };
    // The station still holds events from before the end, or holds none any more.
    for later in [2, 10] {
        CURRENT_THREAD[4].store(0, Relaxed);
        let task = Probe::<TurnTaking<4>>::new(region, 1).born("goes on");
        let go_on = |cycles: u64| {
            for cycle in 0..cycles {
                task.run();
                task.suspend(Wait::user(cycle));
            }
        };
        go_on(4);
        let until = Nanos(NOW[4].load(Relaxed) - 1);
        go_on(later);
        std::mem::forget(task);
        let over = RecordingEnd {
            alive: Nanos(1),
            until,
            length: None,
        };
        let found = last_snapshot(&memory, over);
        assert_eq!(end_of(&found), until);
        assert_eq!(found.0.end.lost, 0);
        let events = events_in(&found.1);
        assert!(events.iter().all(|event| event.at <= until));
        let event_counts = *tallies_in(&found.1)
            .last()
            .expect("the task has an account");
        assert_eq!(event_counts.attempted, 9, "after {later} cycles more");
    }
}
