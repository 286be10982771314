//! Memory, who writes it, and who reads it.
#![allow(
    unsafe_code,
    reason = "writes words into memory that no probe of ours would write"
)]

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use ctp_nostd::aggregate::Bins;
use ctp_nostd::{Coroutine, Memory, Platform, Probe, Region};
use ctp_record::harvest::{Harvest, Numbers, Outside, Peer, Sink, Totals};
use ctp_record::pace::PassOutcome;
use ctp_trace::record::{Birth, Event, Nanos, ProcessId, Record, Tally};

/// A place with a clock that only counts, one thread, and nobody to wake.
#[derive(Debug)]
pub struct Bare;

static TICKS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// Each test has a thread.
    static PASSED_NS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: it has no `Local`.
unsafe impl Platform for Bare {
    fn now_ns() -> u64 {
        TICKS.fetch_add(1, Relaxed) + PASSED_NS.get()
    }

    fn thread() -> u64 {
        7
    }

    fn ring() {}
}

/// Lets time go by.
pub fn let_pass(ns: u64) {
    PASSED_NS.set(PASSED_NS.get() + ns);
}

pub const STATIONS: usize = 8;
type Bytes = Memory<STATIONS, 16>;

/// Memory and a reader of it.
pub struct Desk {
    memory: &'static Bytes,
    harvest: Harvest,
    nowhere: Nowhere,
    sink: Tray,
}

/// Where the records of a pass lie.
#[derive(Default)]
pub struct Tray(pub Vec<Record>);

impl Sink for Tray {
    fn take(&mut self, record: Record) {
        self.0.push(record);
    }
}

/// There is one process, and it has no program code.
#[derive(Default)]
pub struct Nowhere(Numbers);

impl Outside for Nowhere {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.0
    }

    fn process(&mut self, _: Peer, _: &mut dyn Sink) -> ProcessId {
        ProcessId(1)
    }

    fn is_text(&mut self, _: ProcessId, _: u64, _: &mut dyn Sink) -> bool {
        false
    }
}

impl Desk {
    pub fn new() -> Self {
        Desk {
            memory: Box::leak(Box::new(Memory::new())),
            harvest: Harvest::new(0),
            nowhere: Nowhere::default(),
            sink: Tray::default(),
        }
    }

    /// One whose trace has had so many coroutines and sites before.
    pub fn after(coroutines: u32, sites: u32) -> Self {
        Desk {
            nowhere: Nowhere(Numbers::after(coroutines, sites)),
            ..Desk::new()
        }
    }

    /// One that knows when it began, and what time it is.
    pub fn clocked(start_ns: u64, now_ns: fn() -> u64) -> Self {
        Desk {
            harvest: Harvest::clocked(start_ns, now_ns),
            ..Desk::new()
        }
    }

    /// One whose probes keep aggregates, read as if they did not.
    pub fn with_aggregates() -> Self {
        let memory = Memory::new().with_aggregates(Bins::USUAL);
        Desk {
            memory: Box::leak(Box::new(memory)),
            ..Desk::new()
        }
    }

    /// One of which totals are recorded, and of events only the latest.
    pub fn summing_up() -> Self {
        Desk {
            harvest: Harvest::new(0).summing_up(Bins::USUAL),
            ..Desk::with_aggregates()
        }
    }

    /// The same of a probe that keeps none.
    pub fn summing_up_nothing() -> Self {
        Desk {
            harvest: Harvest::new(0).summing_up(Bins::USUAL),
            ..Desk::new()
        }
    }

    /// One of which totals are recorded, by this clock.
    pub fn summing_up_by(now_ns: fn() -> u64) -> Self {
        Desk {
            harvest: Harvest::clocked(0, now_ns).summing_up(Bins::USUAL),
            ..Desk::with_aggregates()
        }
    }

    /// What another reader records that sums up.
    pub fn summed_up(&self) -> Vec<Record> {
        let mut other = Desk {
            memory: self.memory,
            ..Desk::summing_up()
        };
        other.finish()
    }

    pub fn probe(&self) -> Probe<Bare> {
        self.memory.probe()
    }

    pub fn born(&self, name: &str) -> Coroutine<Bare> {
        self.probe().born(name)
    }

    /// One pass, and the records that it made.
    pub fn pass(&mut self) -> (PassOutcome, Vec<Record>) {
        let region = self.region();
        let found = self
            .harvest
            .pass(&region, &mut self.nowhere, &mut self.sink);
        (found, std::mem::take(&mut self.sink.0))
    }

    /// The events of one pass.
    pub fn events(&mut self) -> Vec<Event> {
        events_in(&self.pass().1)
    }

    /// What its programs do from now on is not of the recording.
    pub fn stop(&mut self) {
        let region = self.region();
        self.harvest.stop(&region);
    }

    /// The last look, and the records that it made.
    pub fn finish(&mut self) -> Vec<Record> {
        let region = self.region();
        self.harvest
            .finish(&region, &mut self.nowhere, &mut self.sink);
        std::mem::take(&mut self.sink.0)
    }

    pub fn totals(&self) -> Totals {
        self.harvest.totals()
    }

    /// Time of the latest of what was told.
    pub fn latest(&self) -> Nanos {
        self.harvest.latest()
    }

    /// Of events alone.
    pub fn told(&self) -> Nanos {
        self.harvest.latest_event()
    }

    fn region(&self) -> Region<'static> {
        let (start, bytes) = self.memory.extent();
        // SAFETY: a leaked box of this size, all of it atomics, so it may be written through `&`.
        let region = unsafe { Region::new(start.cast_mut(), bytes, u32::MAX) };
        region.expect("the header is left as it was made")
    }

    pub fn bytes(&self) -> usize {
        self.memory.extent().1
    }

    fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.bytes());
        assert!(offset.is_multiple_of(size_of::<T>()));
        let (start, _) = self.memory.extent();
        start.wrapping_add(offset).cast_mut().cast()
    }

    pub fn put_u64(&self, offset: usize, value: u64) {
        // SAFETY: in bounds and aligned, as `at` has checked; every access is atomic.
        unsafe { AtomicU64::from_ptr(self.at(offset)) }.store(value, Relaxed);
    }

    pub fn put_u32(&self, offset: usize, value: u32) {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.at(offset)) }.store(value, Relaxed);
    }

    pub fn put_u8(&self, offset: usize, value: u8) {
        // SAFETY: as above.
        unsafe { AtomicU8::from_ptr(self.at(offset)) }.store(value, Relaxed);
    }
}

/// Writes into the memory of a desk from another thread.
#[derive(Clone, Copy)]
pub struct Vandal(&'static Bytes);

impl Desk {
    pub fn vandal(&self) -> Vandal {
        Vandal(self.memory)
    }
}

impl Vandal {
    /// `place` counts words from the start.
    pub fn put(self, place: usize, word: u64) {
        let (start, bytes) = self.0.extent();
        assert!(place < bytes / 8);
        let at = start.wrapping_add(place * 8).cast_mut().cast();
        // SAFETY: in bounds of leaked memory, as was checked, and aligned; every access is atomic.
        unsafe { AtomicU64::from_ptr(at) }.store(word, Relaxed);
    }
}

pub fn events_in(records: &[Record]) -> Vec<Event> {
    let event = |record: &Record| match record {
        Record::Event(event) => Some(*event),
        _ => None,
    };
    records.iter().filter_map(event).collect()
}

pub fn births_in(records: &[Record]) -> Vec<Birth> {
    let birth = |record: &Record| match record {
        Record::Birth(birth) => Some(birth.clone()),
        _ => None,
    };
    records.iter().filter_map(birth).collect()
}

pub fn tallies_in(records: &[Record]) -> Vec<Tally> {
    let tally = |record: &Record| match record {
        Record::Tally(tally) => Some(*tally),
        _ => None,
    };
    records.iter().filter_map(tally).collect()
}
