//! The end of a recording whose program goes on, or was over long before it was read.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::create::Recording;
use ctp_nostd::{Coroutine, Local, Platform, Probe, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::Census;
use ctp_trace::record::{Event, Nanos, Record};

use crate::desk::{Bare, Desk, Nowhere, Tray, births_in, events_in, tallies_in};
use crate::lanes::memory;
use crate::sweep;

/// A place with one thread, for one test.
struct Alone<const TEST: usize>;

static NOW: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static LOCALS: [Local; 3] = [const { Local::new() }; 3];

#[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
// SAFETY: the thread of the test, which is the only one to use this platform, chooses the `Local`.
unsafe impl<const TEST: usize> Platform for Alone<TEST> {
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

fn deeds_in(records: &[Record]) -> usize {
    let is_deed = |record: &&Record| matches!(record, Record::Deed(_));
    records.iter().filter(is_deed).count()
}

// CT-02
#[test]
fn what_threads_do_after_the_end_is_neither_told_nor_lost() {
    let region = memory(1);
    let probe: Probe<Alone<0>> = Probe::new(region, 1);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::clocked(0, || NOW[0].load(Relaxed));
    let task = probe.born("goes on");
    live(&task, 10);
    harvest.pass(&region, &mut nowhere, &mut tray);
    live(&task, 10);
    harvest.stop(&region);
    let over_ns = NOW[0].load(Relaxed);
    task.waker().wake();
    // More than its lane has room for, and far more than its station.
    live(&task, 500);
    std::mem::forget(probe.born("too late"));
    harvest.finish(&region, &mut nowhere, &mut tray);
    let (events, tally) = (events_in(&tray.0), tallies_in(&tray.0)[0]);
    assert_eq!(numbers(&events), (0..41).collect::<Vec<u64>>());
    assert!(events.iter().all(|event| event.at.0 <= over_ns));
    assert_eq!((tally.attempted, tally.recorded), (41, 41));
    assert_eq!(
        (tally.torn, tally.wakers, tally.inexact),
        (None, None, false)
    );
    assert_eq!((births_in(&tray.0).len(), deeds_in(&tray.0)), (1, 1));
    let totals = harvest.totals();
    assert_eq!((totals.lost, totals.crowded_out), (0, 0));
    std::mem::forget(task);
}

// CT-02
#[test]
fn what_is_read_after_the_end_is_not_each_compared_with_the_clock() {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let region = memory(1);
    let probe: Probe<Alone<2>> = Probe::new(region, 1);
    let mut harvest = Harvest::clocked(0, || {
        ASKED.fetch_add(1, Relaxed);
        NOW[2].load(Relaxed)
    });
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let task = probe.born("long since unread");
    harvest.pass(&region, &mut nowhere, &mut tray);
    NOW[2].store(60_000_000_000, Relaxed);
    live(&task, 50);
    harvest.stop(&region);
    let before = ASKED.load(Relaxed);
    harvest.finish(&region, &mut nowhere, &mut tray);
    assert_eq!(events_in(&tray.0).len(), 1 + 2 * 50);
    assert!(ASKED.load(Relaxed) - before < 10);
}

// CT-02
#[test]
fn what_was_in_no_lane_at_the_end_is_lost_and_no_more_than_that() {
    let region = sweep::memory(1, &Recording::default());
    let probe: Probe<Alone<1>> = Probe::new(region, 1);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::clocked(0, || NOW[1].load(Relaxed));
    let task = probe.born("goes on");
    live(&task, 2);
    harvest.pass(&region, &mut nowhere, &mut tray);
    live(&task, 3);
    harvest.stop(&region);
    live(&task, 500);
    harvest.finish(&region, &mut nowhere, &mut tray);
    let tally = tallies_in(&tray.0)[0];
    assert_eq!(numbers(&events_in(&tray.0)), [0, 1, 2, 3, 4]);
    assert_eq!((tally.attempted, tally.recorded), (11, 5));
    assert_eq!(harvest.totals().lost, 6);
    std::mem::forget(task);
}

const HEAD: usize = 1024 + 0x240;

// CT-03
#[test]
fn the_event_amid_which_a_program_died_is_told_if_it_is_whole() {
    let mut desk = Desk::clocked(0, || u64::MAX / 2);
    let task = desk.born("died");
    live(&task, 3);
    desk.put_u64(HEAD, 6);
    desk.stop();
    std::mem::forget(task);
    let records = desk.finish();
    assert_eq!(numbers(&events_in(&records)), (0..7).collect::<Vec<u64>>());
    assert_eq!(tallies_in(&records)[0].attempted, 7);
}

// CT-02
#[test]
fn a_wake_after_the_end_is_not_told_and_nobody_is_abandoned_by_it() {
    let mut desk = Desk::clocked(0, Bare::now_ns);
    let task = desk.born("waits");
    live(&task, 1);
    let waker = task.waker();
    desk.stop();
    waker.wake();
    let records = desk.finish();
    let is_woken = |record: &Record| matches!(record, Record::Wake(wake) if 0 < wake.count);
    assert!(!records.iter().any(is_woken));
    assert_eq!(tallies_in(&records)[0].wakers, None);
    std::mem::forget(task);
}

static LATE_NS: AtomicU64 = AtomicU64::new(0);

// CT-03, AGG-17
#[test]
fn totals_that_are_read_long_after_the_end_are_not_later_than_it() {
    const HOUR: u64 = 3_600_000_000_000;
    let mut desk = Desk::summing_up_by(|| LATE_NS.load(Relaxed));
    LATE_NS.store(HOUR, Relaxed);
    let task = desk.born("ended");
    live(&task, 20);
    std::mem::forget(task);
    let records = desk.finish();
    let last = events_in(&records).last().expect("its slots are there").at;
    let mut census = Census::new();
    for record in &records {
        census.feed(record);
    }
    assert!(Nanos(0) < last && last < Nanos(HOUR));
    assert_eq!(census.end_at(), last);
    let mut told = records
        .iter()
        .filter(|it| matches!(it, Record::Aggregate(_)));
    assert!(told.next().is_some());
}
