//! Short lanes for threads that find no long lane: more than the threads, fewer, and too late.
#![allow(unsafe_code, reason = "lays out a memory with lanes")]

use std::cell::Cell;

use ctp_nostd::create::{Plan, Recording, SHORT_RECORDS};
use ctp_nostd::{Coroutine, Local, Platform, Probe, Region, Wait};
use ctp_record::harvest::Harvest;

use crate::test_memory::{RecordBuffer, SingleProcess, events_in};

const THREADS: usize = 8;

/// A platform with threads that take turns and never exit.
struct TurnTaking;

thread_local! {
    static LOCALS: &'static [Local; THREADS] =
        Box::leak(Box::new([const { Local::new() }; THREADS]));
    static CURRENT_THREAD: Cell<usize> = const { Cell::new(0) };
    static NOW: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: each thread of the test harness has `Local`s of its own.
unsafe impl Platform for TurnTaking {
    fn now_ns() -> u64 {
        NOW.set(NOW.get() + 1);
        NOW.get()
    }

    /// Threads are numbered from 1.
    fn thread() -> u64 {
        CURRENT_THREAD.get() as u64 + 1
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        LOCALS.with(|locals| locals.get(CURRENT_THREAD.get()))
    }
}

#[repr(align(1024))]
struct Kib(#[expect(dead_code, reason = "room")] [u8; 1024]);

fn memory(lanes: u32, short_lanes: u32) -> Region<'static> {
    let plan = Plan {
        stations: THREADS as u32,
        lanes,
        lane_records: 2 * SHORT_RECORDS,
        short_lanes,
    };
    let kibs = (0..plan.bytes().div_ceil(1024)).map(|_| Kib([0; 1024]));
    let memory: &'static mut [Kib] = Vec::leak(kibs.collect());
    let (base, bytes) = (memory.as_mut_ptr().cast(), memory.len() * 1024);
    // SAFETY: zeroed, aligned, leaked, and touched by nothing but this region.
    unsafe { Region::create(base, bytes, plan, &Recording::default()) }.expect("large enough")
}

/// A coroutine for each thread.
fn tasks(probe: Probe<TurnTaking>) -> Vec<Coroutine<TurnTaking>> {
    (0..THREADS)
        .map(|thread| {
            CURRENT_THREAD.set(thread);
            probe.born("player")
        })
        .collect()
}

/// Runs cycles of the coroutines of these threads.
fn run_cycles(tasks: &[Coroutine<TurnTaking>], threads: std::ops::Range<usize>, cycles: u64) {
    for thread in threads {
        CURRENT_THREAD.set(thread);
        for cycle in 0..cycles {
            tasks[thread].run();
            tasks[thread].suspend(Wait::user(cycle));
        }
    }
}

struct Recorder {
    region: Region<'static>,
    harvest: Harvest,
    buffer: RecordBuffer,
}

impl Recorder {
    fn of(region: Region<'static>) -> Self {
        Recorder {
            region,
            harvest: Harvest::new(0),
            buffer: RecordBuffer::default(),
        }
    }

    fn pass(&mut self) {
        let mut outside = SingleProcess::default();
        for _ in 0..3 {
            let (harvest, buffer) = (&mut self.harvest, &mut self.buffer);
            harvest.pass(&self.region, &mut outside, buffer);
        }
    }

    fn finish(&mut self) {
        let mut outside = SingleProcess::default();
        let buffer = &mut self.buffer;
        self.harvest.finish(&self.region, &mut outside, buffer);
    }

    /// The numbers of that thread's events.
    fn numbers_of(&self, thread: usize) -> Vec<u64> {
        let events = events_in(&self.buffer.0);
        let own = events.iter().filter(|event| event.tid == thread as u64 + 1);
        own.map(|event| event.n).collect()
    }

    fn events_of(&self, thread: usize) -> usize {
        self.numbers_of(thread).len()
    }

    fn lanes_and_laneless(&self) -> (u32, u32) {
        let laneless = self.region.header.counters().laneless;
        (self.harvest.totals().lanes, laneless)
    }
}

// LT-12
#[test]
fn threads_beyond_the_long_lanes_use_short_lanes() {
    let region = memory(2, THREADS as u32);
    let mut recorder = Recorder::of(region);
    let tasks = tasks(Probe::new(region, 1));
    run_cycles(&tasks, 0..THREADS, 1000);
    recorder.pass();
    assert_eq!(recorder.lanes_and_laneless(), (THREADS as u32, 0));
    for thread in 0..THREADS {
        assert_eq!(recorder.events_of(thread), 1 + 2 * 1000);
    }
    assert_eq!(recorder.harvest.totals().lost, 0);
}

// LT-07, LT-12
#[test]
fn full_short_lane_counts_the_losses() {
    let region = memory(1, THREADS as u32);
    let mut recorder = Recorder::of(region);
    let tasks = tasks(Probe::new(region, 1));
    run_cycles(&tasks, 0..2, u64::from(SHORT_RECORDS) / 2 + 10);
    recorder.pass();
    assert_eq!(recorder.events_of(0), 1 + SHORT_RECORDS as usize + 20);
    // The first record states the thread. Slots made up for eight events.
    assert_eq!(recorder.harvest.totals().crowded_out, 1 + 1 + 20);
    assert_eq!(recorder.events_of(1), SHORT_RECORDS as usize - 1 + 8);
    run_cycles(&tasks, 1..2, 10);
    recorder.pass();
    assert_eq!(recorder.events_of(1), SHORT_RECORDS as usize - 1 + 8 + 20);
}

// LT-12
#[test]
fn threads_without_a_lane_are_counted_once_and_run_on() {
    let region = memory(2, 3);
    let mut recorder = Recorder::of(region);
    let tasks = tasks(Probe::new(region, 1));
    run_cycles(&tasks, 0..THREADS, 1000);
    recorder.finish();
    assert_eq!(recorder.lanes_and_laneless(), (5, THREADS as u32 - 5));
    for thread in 5..THREADS {
        let numbers = recorder.numbers_of(thread);
        assert_eq!(
            numbers,
            (2001 - 8..2001).collect::<Vec<u64>>(),
            "from slots"
        );
    }
}

// LT-12
#[test]
fn thread_without_a_lane_takes_a_lane_that_becomes_free() {
    let region = memory(2, THREADS as u32 - 3);
    let mut recorder = Recorder::of(region);
    let probe = Probe::new(region, 1);
    let tasks = tasks(probe);
    let last = THREADS - 1;
    run_cycles(&tasks, last..THREADS, 200);
    CURRENT_THREAD.set(3);
    probe.thread_ends();
    run_cycles(&tasks, last..THREADS, 400);
    recorder.finish();
    // The thread looks for a lane at every 256th event; slots still hold the events before.
    let all_since: Vec<u64> = (512..1 + 2 * 600).collect();
    assert!(recorder.numbers_of(last).ends_with(&all_since));
    assert_eq!(recorder.lanes_and_laneless(), (THREADS as u32 - 1, 1));
}
