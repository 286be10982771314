//! Aggregates on a platform of the test's own, with a clock that is the ground truth.
#![cfg(not(loom))]

use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use ctp_nostd::aggregate::{Bins, Durations, Latched};
use ctp_nostd::layout::{Aggregate, Station};
use ctp_nostd::{Coroutine, Memory, Platform, Region, Wait};
use proptest::prelude::*;

thread_local! {
    static NOW_NS: Cell<u64> = const { Cell::new(1) };
}

/// A clock that each test sets, and no recorder to wake.
struct Board;

#[expect(unsafe_code, reason = "the trait is unsafe to implement")]
// SAFETY: it has no `Local`.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        NOW_NS.get()
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}
}

const BINS: Bins = Bins::USUAL;

fn memory() -> &'static Memory<1> {
    Box::leak(Box::new(Memory::new().with_aggregates(BINS)))
}

/// The station as a reader of a dump sees it.
#[expect(unsafe_code, reason = "memory of the test's own as a region")]
fn station(memory: &'static Memory<1>) -> &'static Station {
    let (base, bytes) = memory.extent();
    // SAFETY: a leaked box is mapped for ever, and all of its words are atomics.
    let region = unsafe { Region::new(base.cast_mut(), bytes, u32::MAX) };
    &region.expect("a memory is a region").stations[0]
}

/// Advances the clock by `ns`, then calls `act`.
fn after(ns: u64, act: impl FnOnce()) {
    NOW_NS.set(NOW_NS.get() + ns);
    act();
}

/// The expected statistics of these durations, by the definition of each figure.
fn truth(durations: &[u64]) -> Durations {
    let mut bins = [0; 16];
    let bound = |bin: usize| 1u64 << (BINS.lo() as usize + bin * BINS.step() as usize);
    for ns in durations {
        let bin = (0..15).find(|bin| *ns < bound(*bin)).unwrap_or(15);
        bins[bin] += 1;
    }
    Durations {
        count: durations.len() as u64,
        sum_ns: durations.iter().sum(),
        min_ns: durations.iter().copied().min().unwrap_or(u64::MAX),
        max_ns: durations.iter().copied().max().unwrap_or(0),
        bins,
    }
}

fn live(coroutine: &Coroutine<Board>, lives: &[(u64, u64)]) {
    for (waited, ran) in lives {
        after(*waited, || coroutine.run());
        after(*ran, || coroutine.suspend(Wait::user(1)));
    }
}

proptest! {
    // AGG-07, AGG-09, AGG-19
    #[test]
    fn totals_are_exact_beyond_the_eight_slots(
        lives in prop::collection::vec((0u64..1 << 38, 0u64..1 << 38), 0..400),
    ) {
        let memory = memory();
        let coroutine = memory.probe::<Board>().born("task");
        live(&coroutine, &lives);
        let (waits, runs): (Vec<u64>, Vec<u64>) = lives.into_iter().unzip();
        // The time before the first run was no wait, and the last wait has not ended.
        let waits = waits.get(1..).unwrap_or_default();
        prop_assert_eq!(station(memory).waiting().read(), Some(truth(waits)));
        prop_assert_eq!(station(memory).running().read(), Some(truth(&runs)));
    }

    // AGG-15
    #[test]
    fn duration_lies_between_the_bounds_of_the_bin(
        ns in prop_oneof![any::<u64>(), (0u32..64).prop_map(|k| 1 << k), (0u32..64).prop_map(|k| (1 << k) - 1)],
        lo in 0u32..64,
        step_shift in 0u32..6,
    ) {
        let bins = Bins::new(lo, 1 << step_shift).unwrap();
        let bound = |bin: usize| 1u128 << (bins.lo() as usize + bin * bins.step() as usize).min(127);
        let bin = bins.of(ns);
        prop_assert!(bin == 15 || u128::from(ns) < bound(bin));
        prop_assert!(bin == 0 || bound(bin - 1) <= u128::from(ns));
    }
}

// AGG-15
#[test]
fn bin_steps_must_be_powers_of_two() {
    assert_eq!(Bins::new(8, 3), None);
    assert_eq!(Bins::new(8, 0), None);
    assert_eq!(Bins::new(64, 1), None);
}

// AGG-07
#[test]
fn wait_that_ends_in_a_death_is_not_counted() {
    let memory = memory();
    let coroutine = memory.probe::<Board>().born("task");
    live(&coroutine, &[(5, 10), (20, 40)]);
    after(1000, || drop(coroutine));
    assert_eq!(station(memory).waiting().read(), Some(truth(&[20])));
    assert_eq!(station(memory).running().read(), Some(truth(&[10, 40])));
}

// AGG-09
#[test]
fn memory_without_aggregates_counts_nothing() {
    let memory: &'static Memory<1> = Box::leak(Box::new(Memory::new()));
    let coroutine = memory.probe::<Board>().born("task");
    live(&coroutine, &[(5, 10), (20, 40)]);
    let count = |latched: Latched<'_>| latched.read().map(|found| found.count);
    assert_eq!(count(station(memory).running()), Some(0));
    assert_eq!(count(station(memory).waiting()), Some(0));
}

/// Set `CTP_STORM_SNAPSHOTS=10000000` for a longer test.
fn snapshots() -> u64 {
    let requested = std::env::var("CTP_STORM_SNAPSHOTS").ok();
    requested.and_then(|n| n.parse().ok()).unwrap_or(300_000)
}

#[derive(Default)]
struct Words {
    latch: std::sync::atomic::AtomicU32,
    a: Aggregate,
    b: Aggregate,
}

impl Words {
    fn latched(&self) -> Latched<'_> {
        Latched::new(&self.latch, &self.a, &self.b)
    }

    /// Counts durations that follow from their number, at full speed.
    fn write(&self, is_over: &AtomicBool) {
        let mut n = 0u64;
        while !is_over.load(Relaxed) {
            self.latched().add(1 + (n * 7919) % 1_000_003, BINS);
            n += 1;
        }
    }
}

/// Checks what must hold for durations that were counted in that order.
fn assert_whole(found: &Durations, before: u64) {
    let in_bins: u64 = found.bins.iter().copied().map(u64::from).sum();
    assert_eq!(in_bins, found.count);
    assert!(before <= found.count);
    let mean = found.sum_ns.checked_div(found.count);
    assert!(
        mean.is_none_or(|mean| found.min_ns <= mean && mean <= found.max_ns),
        "{found:?}"
    );
}

// AGG-03, AGG-05
#[test]
fn fast_writer_is_read_whole_without_waiting() {
    let words = Words::default();
    words.latched().clear();
    let is_over = AtomicBool::new(false);
    let (mut busy, mut count) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| words.write(&is_over));
        for _ in 0..snapshots() {
            match words.latched().read() {
                Some(found) => {
                    assert_whole(&found, count);
                    count = found.count;
                }
                None => busy += 1,
            }
        }
        is_over.store(true, Relaxed);
    });
    println!("{} snapshots of {count} updates, {busy} busy", snapshots());
    assert!(busy < snapshots(), "some are read");
    assert_whole(&words.latched().read().expect("no writer is active"), count);
}
