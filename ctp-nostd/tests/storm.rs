//! CTP-10: four writers at full speed, and a reader that knows the content of each event.
//!
//! `CTP_STORM_SECONDS=60` makes the test longer than the default of a second. All content of an
//! event follows from its number, so a mixed payload, or a payload of another event, is detected.
#![cfg(not(loom))]

use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::layout::Station;
use ctp_nostd::slot::Epoch;
use ctp_nostd::{Coroutine, Memory, Platform, Region, Wait, WaitKind};

const WRITERS: usize = 4;
static MEMORY: Memory<WRITERS> = Memory::new();

thread_local! {
    static EVENTS: Cell<u64> = const { Cell::new(0) };
    static WRITER: Cell<u64> = const { Cell::new(0) };
}

/// A platform with the number of this thread's events as the time, and a hash of both as the
/// thread.
struct Numbered;

#[expect(unsafe_code, reason = "the trait is unsafe to implement")]
// SAFETY: it has no `Local`.
unsafe impl Platform for Numbered {
    fn now_ns() -> u64 {
        EVENTS.get()
    }

    fn thread() -> u64 {
        hash(EVENTS.get() ^ WRITER.get())
    }

    fn ring() {}
}

/// The finaliser of splitmix64 (Steele, Lea, Flood).
fn hash(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ n >> 31
}

/// Suspends until `is_over`; returns the number of events, including the birth.
fn write(writer: u64, coroutine: Coroutine<Numbered>, is_over: &AtomicBool) -> u64 {
    WRITER.set(writer << 56);
    let mut n = 1;
    while !is_over.load(Relaxed) {
        EVENTS.set(n);
        coroutine.suspend(Wait::user(hash(n)));
        n += 1;
    }
    // The death is no part of the storm.
    std::mem::forget(coroutine);
    n
}

/// The events read of a station.
struct Reader<'s> {
    station: &'s Station,
    writer: u64,
    next: u64,
    whole: u64,
    lost: u64,
}

impl<'s> Reader<'s> {
    fn new(writer: u64, station: &'s Station) -> Self {
        Reader {
            station,
            writer,
            next: 0,
            whole: 0,
            lost: 0,
        }
    }

    /// Reads some of the available events, so that the other stations have their turn.
    fn read(&mut self) {
        for _ in 0..64 {
            match Dialect::PerSlot.fetch(self.station, self.next) {
                Fetched::Whole(epoch) => {
                    self.check(&epoch);
                    self.next += 1;
                    self.whole += 1;
                }
                Fetched::Overwritten(oldest) => {
                    self.lost += oldest - self.next;
                    self.next = oldest;
                }
                Fetched::NotYet | Fetched::Torn => return,
            }
        }
    }

    fn check(&self, epoch: &Epoch) {
        let n = self.next;
        if n == 0 {
            return;
        }
        let found = (epoch.timestamp, epoch.tid, epoch.arg, epoch.tail.wait_kind);
        let thread = hash(n ^ self.writer << 56);
        assert_eq!(
            found,
            (n, thread, hash(n), WaitKind::User as u8),
            "event {n}"
        );
    }
}

#[expect(unsafe_code, reason = "the memory as a recorder has it")]
fn region() -> Region<'static> {
    let (start, bytes) = MEMORY.extent();
    // SAFETY: a static, all of it atomics.
    unsafe { Region::new(start.cast_mut(), bytes, u32::MAX) }.expect("just created")
}

fn duration() -> Duration {
    let seconds = std::env::var("CTP_STORM_SECONDS").map_or(1, |text| {
        text.parse().expect("CTP_STORM_SECONDS is a number")
    });
    Duration::from_secs(seconds)
}

// CTP-10
#[test]
fn storm_events_are_read_whole_or_counted_as_lost() {
    let probe = MEMORY.probe::<Numbered>();
    let coroutines: Vec<_> = (0..WRITERS).map(|_| probe.born("storm")).collect();
    let mut readers: Vec<_> = (0..)
        .zip(region().stations)
        .map(|(writer, station)| Reader::new(writer, station))
        .collect();
    let is_over = &AtomicBool::new(false);
    let written: Vec<u64> = thread::scope(|scope| {
        let writers: Vec<_> = (0..)
            .zip(coroutines)
            .map(|(writer, coroutine)| scope.spawn(move || write(writer, coroutine, is_over)))
            .collect();
        let begin = Instant::now();
        while begin.elapsed() < duration() {
            readers.iter_mut().for_each(Reader::read);
        }
        is_over.store(true, Relaxed);
        writers
            .into_iter()
            .map(|writer| writer.join().expect("no panic"))
            .collect()
    });
    for (reader, written) in readers.iter_mut().zip(written) {
        reader.read();
        assert_eq!(reader.whole + reader.lost, written);
        println!(
            "{written} events, {} read, {} lost",
            reader.whole, reader.lost
        );
    }
}
