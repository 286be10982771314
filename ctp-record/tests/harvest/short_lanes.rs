//! Lanes for the threads that find no long one: more than a program has threads, fewer, and too late.
#![allow(unsafe_code, reason = "lays out a memory with lanes")]

use std::cell::Cell;

use ctp_nostd::create::{Plan, Recording, SHORT_RECORDS};
use ctp_nostd::{Coroutine, Local, Platform, Probe, Region, Wait};
use ctp_record::harvest::Harvest;

use crate::desk::{Nowhere, Tray, events_in};

const THREADS: usize = 8;

/// A place with threads that take turns, and never die.
struct Stage;

thread_local! {
    static LOCALS: &'static [Local; THREADS] =
        Box::leak(Box::new([const { Local::new() }; THREADS]));
    static ON_STAGE: Cell<usize> = const { Cell::new(0) };
    static NOW: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: each thread of the test harness has `Local`s of its own.
unsafe impl Platform for Stage {
    fn now_ns() -> u64 {
        NOW.set(NOW.get() + 1);
        NOW.get()
    }

    /// From 1.
    fn thread() -> u64 {
        ON_STAGE.get() as u64 + 1
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        LOCALS.with(|locals| locals.get(ON_STAGE.get()))
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
    unsafe { Region::create(base, bytes, plan, &Recording::default()) }.expect("it fits")
}

/// One coroutine for each thread.
fn troupe(probe: Probe<Stage>) -> Vec<Coroutine<Stage>> {
    let born = |thread| {
        ON_STAGE.set(thread);
        probe.born("player")
    };
    (0..THREADS).map(born).collect()
}

/// That of each of these threads runs and suspends so often.
fn play(troupe: &[Coroutine<Stage>], threads: std::ops::Range<usize>, cycles: u64) {
    for thread in threads {
        ON_STAGE.set(thread);
        for cycle in 0..cycles {
            troupe[thread].run();
            troupe[thread].suspend(Wait::user(cycle));
        }
    }
}

struct Recorder {
    region: Region<'static>,
    harvest: Harvest,
    tray: Tray,
}

impl Recorder {
    fn of(region: Region<'static>) -> Self {
        Recorder {
            region,
            harvest: Harvest::new(0),
            tray: Tray::default(),
        }
    }

    fn pass(&mut self) {
        let mut nowhere = Nowhere::default();
        for _ in 0..3 {
            let (harvest, tray) = (&mut self.harvest, &mut self.tray);
            harvest.pass(&self.region, &mut nowhere, tray);
        }
    }

    fn finish(&mut self) {
        let mut nowhere = Nowhere::default();
        let tray = &mut self.tray;
        self.harvest.finish(&self.region, &mut nowhere, tray);
    }

    /// Of the events of that thread.
    fn numbers_of(&self, thread: usize) -> Vec<u64> {
        let events = events_in(&self.tray.0);
        let its = events.iter().filter(|it| it.tid == thread as u64 + 1);
        its.map(|event| event.n).collect()
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
fn beyond_the_long_lanes_each_thread_has_a_short_one_and_none_loses_an_event() {
    let region = memory(2, THREADS as u32);
    let mut recorder = Recorder::of(region);
    let troupe = troupe(Probe::new(region, 1));
    play(&troupe, 0..THREADS, 1000);
    recorder.pass();
    assert_eq!(recorder.lanes_and_laneless(), (THREADS as u32, 0));
    for thread in 0..THREADS {
        assert_eq!(recorder.events_of(thread), 1 + 2 * 1000);
    }
    assert_eq!(recorder.harvest.totals().lost, 0);
}

// LT-07, LT-12
#[test]
fn a_short_lane_that_is_full_counts_what_it_has_no_room_for() {
    let region = memory(1, THREADS as u32);
    let mut recorder = Recorder::of(region);
    let troupe = troupe(Probe::new(region, 1));
    play(&troupe, 0..2, u64::from(SHORT_RECORDS) / 2 + 10);
    recorder.pass();
    assert_eq!(recorder.events_of(0), 1 + SHORT_RECORDS as usize + 20);
    // One record says whose the lane is. Slots made up for eight events.
    assert_eq!(recorder.harvest.totals().crowded_out, 1 + 1 + 20);
    assert_eq!(recorder.events_of(1), SHORT_RECORDS as usize - 1 + 8);
    play(&troupe, 1..2, 10);
    recorder.pass();
    assert_eq!(recorder.events_of(1), SHORT_RECORDS as usize - 1 + 8 + 20);
}

// LT-12
#[test]
fn threads_beyond_all_lanes_are_counted_once_each_and_run_on() {
    let region = memory(2, 3);
    let mut recorder = Recorder::of(region);
    let troupe = troupe(Probe::new(region, 1));
    play(&troupe, 0..THREADS, 1000);
    recorder.finish();
    assert_eq!(recorder.lanes_and_laneless(), (5, THREADS as u32 - 5));
    for thread in 5..THREADS {
        let numbers = recorder.numbers_of(thread);
        assert_eq!(numbers, (2001 - 8..2001).collect::<Vec<u64>>(), "its slots");
    }
}

// LT-12
#[test]
fn a_thread_without_a_lane_finds_one_that_is_given_back() {
    let region = memory(2, THREADS as u32 - 3);
    let mut recorder = Recorder::of(region);
    let probe = Probe::new(region, 1);
    let troupe = troupe(probe);
    let last = THREADS - 1;
    play(&troupe, last..THREADS, 200);
    ON_STAGE.set(3);
    probe.thread_ends();
    play(&troupe, last..THREADS, 400);
    recorder.finish();
    // At every 256th event it looks again; what slots still hold comes before.
    let all_since: Vec<u64> = (512..1 + 2 * 600).collect();
    assert!(recorder.numbers_of(last).ends_with(&all_since));
    assert_eq!(recorder.lanes_and_laneless(), (THREADS as u32 - 1, 1));
}
