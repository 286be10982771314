//! Aggregates of a coroutine when signal handlers interrupt its events and record events of the same
//! coroutine.
#![allow(unsafe_code, reason = "signal handlers, and a signal to one thread")]

use std::cell::Cell;
use std::os::unix::thread::JoinHandleExt as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

use ctp_nostd::aggregate::{Bins, Durations};
use ctp_nostd::layout::Station;
use ctp_nostd::slot::{self, SlotReading};
use ctp_nostd::{Coroutine, Local, Memory, Platform, Region, Wait};

/// A platform for one thread and its handlers. The clock advances a nanosecond per reading.
struct Owner;

static MEMORY: Memory<1, 1> = Memory::new().with_aggregates(Bins::USUAL);
static LOCAL: Local = Local::new();
static NOW: AtomicU64 = AtomicU64::new(1);

// SAFETY: one thread uses this platform, and no other platform has its `Local`.
unsafe impl Platform for Owner {
    fn now_ns() -> u64 {
        NOW.fetch_add(1, Relaxed)
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        Some(&LOCAL)
    }
}

thread_local! {
    /// The coroutine of which handlers record events.
    static TASK: Cell<Option<&'static Coroutine<Owner>>> = const { Cell::new(None) };
}
static IS_OVER: AtomicBool = AtomicBool::new(false);
static IS_READY: AtomicBool = AtomicBool::new(false);
static NESTED: AtomicU64 = AtomicU64::new(0);
/// The time of the first run.
static FIRST_RUN: AtomicU64 = AtomicU64::new(0);

extern "C" fn interrupt(_: libc::c_int) {
    if let Some(task) = TASK.get() {
        task.run();
        NESTED.fetch_add(1, Relaxed);
    }
}

const SIGNALS: u64 = 20_000;

/// Runs and waits as long as signals come. Returns the number of its events.
fn own() -> u64 {
    let task = Box::leak(Box::new(MEMORY.probe::<Owner>().born("task")));
    task.run();
    FIRST_RUN.store(time_of(1), Relaxed);
    let mut events = 2;
    TASK.set(Some(task));
    IS_READY.store(true, Relaxed);
    while !IS_OVER.load(Relaxed) {
        task.suspend(Wait::user(8));
        task.run();
        events += 2;
    }
    TASK.set(None);
    events
}

fn station() -> &'static Station {
    let (base, bytes) = MEMORY.extent();
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    let region = unsafe { Region::new(base.cast_mut(), bytes, u32::MAX) };
    &region.expect("a memory is a region").stations[0]
}

fn time_of(n: u64) -> u64 {
    match slot::read(station().slot_of(n)) {
        SlotReading::Whole(_, epoch) => epoch.timestamp,
        other => panic!("event {n}: {other:?}"),
    }
}

fn both<T: std::iter::Sum>(of: impl Fn(Durations) -> T) -> T {
    let found = [station().waiting(), station().running()].map(|latched| latched.read());
    let found = found.map(|durations| durations.expect("nothing is writing"));
    found.into_iter().map(of).sum()
}

// AGG-23, CTP-30
#[test]
fn nested_events_are_summed_up_once() {
    let handler = interrupt as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler accesses atomics and words of its thread. No other test uses this signal.
    unsafe { libc::signal(libc::SIGUSR2, handler) };
    let owner = thread::spawn(own);
    while !IS_READY.load(Relaxed) {
        thread::yield_now();
    }
    for _ in 0..SIGNALS {
        // SAFETY: the thread runs until `IS_OVER` is set below.
        unsafe { libc::pthread_kill(owner.as_pthread_t(), libc::SIGUSR2) };
    }
    IS_OVER.store(true, Relaxed);
    let own = owner.join().expect("the owner does not panic");
    let nested_events = NESTED.load(Relaxed);
    println!("{own} events, {nested_events} of handlers");
    assert!(0 < nested_events);
    let head = station().event_head();
    let (events, nested) = (own + nested_events, u64::from(station().nested()));
    assert_eq!(head + nested, events, "events nested too deep are counted");
    // Each event except the birth and the first run ended a duration.
    assert_eq!(both(|durations| durations.count), head - 2);
    assert_eq!(
        both(|durations| durations.bins.map(u64::from).iter().sum::<u64>()),
        head - 2
    );
    assert_eq!(
        both(|durations| durations.sum_ns),
        time_of(head - 1) - FIRST_RUN.load(Relaxed)
    );
}
