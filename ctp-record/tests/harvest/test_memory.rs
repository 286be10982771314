//! A memory with its writer and its reader.
#![allow(
    unsafe_code,
    reason = "writes words into memory that this project's probe would not write"
)]

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::time::Duration;

use ctp_nostd::aggregate::Bins;
use ctp_nostd::{Coroutine, Memory, Platform, Probe, Region};
use ctp_record::harvest::{
    Harvest, IdleReport, LongRun, Outside, Sink, StationProcess, Totals, TraceNumbers,
};
use ctp_record::pace::PassOutcome;
use ctp_trace::record::{Birth, Event, EventCounts, Nanos, ProcessId, Record};

/// A platform with a clock that counts readings, and one thread that is never woken.
#[derive(Debug)]
pub struct Bare;

static TICKS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// Time added by the test. Each test has a thread of its own.
    static PASSED_NS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the platform has no `Local`.
unsafe impl Platform for Bare {
    fn now_ns() -> u64 {
        TICKS.fetch_add(1, Relaxed) + PASSED_NS.get()
    }

    fn thread() -> u64 {
        7
    }

    fn ring() {}
}

/// Advances the clock.
pub fn let_pass(ns: u64) {
    PASSED_NS.set(PASSED_NS.get() + ns);
}

pub const STATIONS: usize = 8;
type Bytes = Memory<STATIONS, 16>;

/// A memory and its reader.
pub struct TestMemory {
    memory: &'static Bytes,
    harvest: Harvest,
    outside: SingleProcess,
    sink: RecordBuffer,
}

/// Collects the records of passes.
#[derive(Default)]
pub struct RecordBuffer(pub Vec<Record>);

impl Sink for RecordBuffer {
    fn take(&mut self, record: Record) {
        self.0.push(record);
    }
}

/// The outside of a single process without program code.
#[derive(Default)]
pub struct SingleProcess(TraceNumbers);

impl Outside for SingleProcess {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.0
    }

    fn process(&mut self, _: StationProcess, _: &mut dyn Sink) -> ProcessId {
        ProcessId(1)
    }

    fn is_text(&mut self, _: ProcessId, _: u64, _: &mut dyn Sink) -> bool {
        false
    }
}

impl TestMemory {
    pub fn new() -> Self {
        TestMemory {
            memory: Box::leak(Box::new(Memory::new())),
            harvest: Harvest::new(0),
            outside: SingleProcess::default(),
            sink: RecordBuffer::default(),
        }
    }

    /// A memory of a trace that has assigned this many coroutine and site numbers before.
    pub fn after(coroutines: u32, sites: u32) -> Self {
        TestMemory {
            outside: SingleProcess(TraceNumbers::after(coroutines, sites)),
            ..TestMemory::new()
        }
    }

    /// A memory with a reader that knows the start and the present time.
    pub fn clocked(start_ns: u64, now_ns: fn() -> u64) -> Self {
        TestMemory {
            harvest: Harvest::clocked(start_ns, now_ns),
            ..TestMemory::new()
        }
    }

    /// A memory with aggregates that is read as a history.
    pub fn with_aggregates() -> Self {
        let memory = Memory::new().with_aggregates(Bins::USUAL);
        TestMemory {
            memory: Box::leak(Box::new(memory)),
            ..TestMemory::new()
        }
    }

    /// A memory that is read as a summary.
    pub fn summing_up() -> Self {
        TestMemory {
            harvest: Harvest::new(0).summing_up(Bins::USUAL),
            ..TestMemory::with_aggregates()
        }
    }

    /// A memory without aggregates that is read as a summary.
    pub fn summing_up_nothing() -> Self {
        TestMemory {
            harvest: Harvest::new(0).summing_up(Bins::USUAL),
            ..TestMemory::new()
        }
    }

    /// A memory that is read as a summary, by this clock.
    pub fn summing_up_by(now_ns: fn() -> u64) -> Self {
        TestMemory {
            harvest: Harvest::clocked(0, now_ns).summing_up(Bins::USUAL),
            ..TestMemory::with_aggregates()
        }
    }

    /// The records of a second reader, which reads the memory as a summary.
    pub fn summed_up(&self) -> Vec<Record> {
        let mut other = TestMemory {
            memory: self.memory,
            ..TestMemory::summing_up()
        };
        other.finish()
    }

    pub fn probe(&self) -> Probe<Bare> {
        self.memory.probe()
    }

    pub fn born(&self, name: &str) -> Coroutine<Bare> {
        self.probe().born(name)
    }

    /// Runs a pass. Returns its outcome and its records.
    pub fn pass(&mut self) -> (PassOutcome, Vec<Record>) {
        let region = self.region();
        let found = self
            .harvest
            .pass(&region, &mut self.outside, &mut self.sink);
        (found, std::mem::take(&mut self.sink.0))
    }

    /// Runs a pass. Returns its events.
    pub fn events(&mut self) -> Vec<Event> {
        events_in(&self.pass().1)
    }

    /// Ends the recording. What programs do later does not belong to it.
    pub fn stop(&mut self) {
        let region = self.region();
        self.harvest.stop(&region);
    }

    /// Reads the rest. Returns the records.
    pub fn finish(&mut self) -> Vec<Record> {
        let region = self.region();
        self.harvest
            .finish(&region, &mut self.outside, &mut self.sink);
        std::mem::take(&mut self.sink.0)
    }

    /// Reports coroutines that have had no event for `after`.
    pub fn report_idle(&mut self, after: Duration, sink: &mut dyn Sink) -> IdleReport {
        let region = self.region();
        self.harvest
            .report_idle(after, &region, &mut self.outside, sink)
    }

    /// The run of a station's coroutine, if it has run at least since `since_ns`.
    pub fn long_run(&self, station: usize, since_ns: u64) -> Option<LongRun> {
        self.harvest.long_run(station, &self.region(), since_ns)
    }

    pub fn totals(&self) -> Totals {
        self.harvest.totals()
    }

    /// Time of the latest record.
    pub fn latest(&self) -> Nanos {
        self.harvest.latest()
    }

    /// Time of the latest event.
    pub fn latest_event(&self) -> Nanos {
        self.harvest.latest_event()
    }

    fn region(&self) -> Region<'static> {
        let (start, bytes) = self.memory.extent();
        // SAFETY: a leaked box of this size, all of it atomics, so it may be written through `&`.
        let region = unsafe { Region::new(start.cast_mut(), bytes, u32::MAX) };
        region.expect("the header is undamaged")
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

/// Writes into a memory from another thread.
#[derive(Clone, Copy)]
pub struct Overwriter(&'static Bytes);

impl TestMemory {
    pub fn overwriter(&self) -> Overwriter {
        Overwriter(self.memory)
    }
}

impl Overwriter {
    /// Writes a word; `place` counts words from the start.
    pub fn put(self, place: usize, word: u64) {
        let (start, bytes) = self.0.extent();
        assert!(place < bytes / 8);
        let at = start.wrapping_add(place * 8).cast_mut().cast();
        // SAFETY: in bounds of leaked memory, as was checked, and aligned; every access is atomic.
        unsafe { AtomicU64::from_ptr(at) }.store(word, Relaxed);
    }
}

pub fn events_in(records: &[Record]) -> Vec<Event> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Event(event) => Some(*event),
            _ => None,
        })
        .collect()
}

pub fn births_in(records: &[Record]) -> Vec<Birth> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Birth(birth) => Some(birth.clone()),
            _ => None,
        })
        .collect()
}

pub fn tallies_in(records: &[Record]) -> Vec<EventCounts> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::EventCounts(event_counts) => Some(*event_counts),
            _ => None,
        })
        .collect()
}
