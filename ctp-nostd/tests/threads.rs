//! Records of threads in a short lane, with signal handlers that interrupt them. The platform calls
//! the handler where the probe calls the platform.
#![cfg(not(loom))]
#![allow(unsafe_code, reason = "lays out a memory with lanes")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ctp_nostd::aggregate::{MODE_FLIGHT, MODE_HISTORY};
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::doorbell;
use ctp_nostd::lane::{Ring, ThreadEventKind};
use ctp_nostd::{Local, Platform, Probe, Region, Wait};

/// Two threads that take turns. Tests run in parallel, so each test has its own.
struct Stage<const TEST: usize>;

type Handler = Box<dyn FnOnce() + Send>;

static LOCALS: [[Local; 2]; 4] = [const { [const { Local::new() }; 2] }; 4];
static NOW: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
/// The running thread of each test, from 1.
static THREADS: [AtomicU64; 4] = [const { AtomicU64::new(1) }; 4];
/// The handler that interrupts the next event, after the event has its position.
static WITHIN_EVENT: [Mutex<Option<Handler>>; 4] = [const { Mutex::new(None) }; 4];

/// The handler that runs when the recorder is rung.
static AT_RING: [Mutex<Option<Handler>>; 4] = [const { Mutex::new(None) }; 4];

fn come(handler: &Mutex<Option<Handler>>) {
    let handler = handler.lock().expect("no thread panics").take();
    if let Some(handler) = handler {
        handler();
    }
}

fn expect(handlers: &[Mutex<Option<Handler>>; 4], test: usize, handler: Handler) {
    *handlers[test].lock().expect("no thread panics") = Some(handler);
}

// SAFETY: the thread of the test, which is the only one to use this platform, chooses the `Local`.
unsafe impl<const TEST: usize> Platform for Stage<TEST> {
    fn now_ns() -> u64 {
        NOW[TEST].fetch_add(1, Relaxed) + 1
    }

    fn thread() -> u64 {
        THREADS[TEST].load(Relaxed)
    }

    fn thread_of(_: &Local) -> u64 {
        come(&WITHIN_EVENT[TEST]);
        Self::thread()
    }

    fn ring() {
        come(&AT_RING[TEST]);
    }

    unsafe fn local() -> Option<&'static Local> {
        LOCALS[TEST].get(Self::thread() as usize - 1)
    }
}

#[repr(align(1024))]
struct Kib(#[expect(dead_code, reason = "room")] [u8; 1024]);

const LENGTH: u64 = 8;

/// A memory with a single lane.
fn memory(mode: u32) -> Region<'static> {
    let plan = Plan {
        stations: 2,
        lanes: 1,
        lane_records: LENGTH as u32,
        short_lanes: 0,
    };
    let recording = Recording {
        mode,
        ..Recording::default()
    };
    let kibs = (0..plan.bytes().div_ceil(1024)).map(|_| Kib([0; 1024]));
    let memory: &'static mut [Kib] = Vec::leak(kibs.collect());
    let (base, bytes) = (memory.as_mut_ptr().cast(), memory.len() * 1024);
    // SAFETY: zeroed, aligned, leaked, and accessed by nothing but this region.
    unsafe { Region::create(base, bytes, plan, &recording) }.expect("the memory fits the plan")
}

fn lane(region: &Region<'static>) -> Ring<'static> {
    region.ring(0).expect("the region has a lane")
}

/// Kind and number of a record.
fn kind_and_number(ring: &Ring<'_>, at: u64) -> (u8, u64) {
    let (_, payload) = ring.read(at).expect("a committed record");
    (payload.kind, payload.n)
}

// LT-08
#[test]
fn loss_in_a_handler_precedes_the_next_record() {
    let region = memory(MODE_FLIGHT);
    let probe: Probe<Stage<0>> = Probe::new(region, 1);
    let task = probe.born("task");
    task.run();
    let ring = lane(&region);
    let interrupted = ring.head();
    // Takes all positions up to the position that the interrupted event has not filled in, inclusive.
    let handler = move || (0..LENGTH).for_each(|number| probe.closed(number));
    expect(&WITHIN_EVENT, 0, Box::new(handler));
    task.suspend(Wait::to_yield());
    assert_eq!((ring.head(), ring.lost()), (interrupted + LENGTH, 1));

    task.run();
    assert_eq!(
        kind_and_number(&ring, interrupted + LENGTH),
        (ThreadEventKind::Loss as u8, 1)
    );
    assert_eq!(
        kind_and_number(&ring, interrupted + LENGTH + 1).0,
        2,
        "the run"
    );
}

// LT-33
#[test]
fn lane_given_back_by_a_handler_stays_with_the_taker() {
    let region = memory(MODE_HISTORY);
    let probe: Probe<Stage<1>> = Probe::new(region, 1);
    probe.closed(1_u64);
    let handler = move || {
        probe.thread_ends();
        THREADS[1].store(2, Relaxed);
        probe.closed(2_u64);
        THREADS[1].store(1, Relaxed);
    };
    expect(&AT_RING, 1, Box::new(handler));
    doorbell::arm(region.header.tracer_sleeping());
    probe.thread_ends();
    assert_eq!(lane(&region).holder(), Some(2));
}

// LT-12
#[test]
fn thread_that_only_switches_requests_a_lane_again() {
    let region = memory(MODE_HISTORY);
    let probe: Probe<Stage<2>> = Probe::new(region, 1);
    probe.closed(1_u64);
    THREADS[2].store(2, Relaxed);
    let [from, to] = ["from", "to"].map(|name| probe.born(name));
    assert_eq!(lane(&region).holder(), Some(1));
    THREADS[2].store(1, Relaxed);
    probe.thread_ends();
    THREADS[2].store(2, Relaxed);
    for _ in 0..256 {
        from.switch_to(Wait::to_yield(), &to);
    }
    assert_eq!(lane(&region).holder(), Some(2));
}

// LT-07
#[test]
fn failed_begin_counts_no_loss_in_the_lane() {
    let region = memory(MODE_HISTORY);
    let probe: Probe<Stage<3>> = Probe::new(region, 1);
    (0..LENGTH).for_each(|number| probe.closed(number));
    probe.thread_ends();
    assert_eq!(lane(&region).lost(), 2, "the last close, and the end");
    THREADS[3].store(2, Relaxed);
    probe.closed(0_u64);
    assert_eq!(lane(&region).lost(), 2);
    lane(&region).release(LENGTH);
    (0..256_u64).for_each(|number| probe.closed(number));
    assert_eq!(lane(&region).holder(), Some(2));
}
