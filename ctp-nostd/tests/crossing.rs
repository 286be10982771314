//! Numbers and times that pass 2^32 while another thread reads them. The same tests run with words
//! of 64 bits and, under `--cfg ctp_split_words`, with two halves of 32 bits.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use ctp_nostd::layout::{CHANGING, Slot, Station};
use ctp_nostd::slot::{self, Epoch, SlotReading, Tail, event_of, final_seq};
use ctp_nostd::{Memory, Platform, Region, Wait};

const CROSSING: u64 = 1 << 32;

/// A number that a test without optimisation reaches in a second.
const EVENTS: u64 = if cfg!(debug_assertions) {
    1_000_000
} else {
    10_000_000
};

/// An event in which every word shows the event's number.
fn event(n: u64) -> Epoch {
    Epoch {
        timestamp: n + 1,
        tid: n ^ 2,
        addr: !n,
        site: n + 4,
        arg: n + 5,
        generation: n as u32,
        tail: Tail {
            wake_seen: n as u16,
            ..Tail::default()
        },
    }
}

// CTP-27
#[test]
fn no_wrong_sequence_is_accepted_at_the_crossing() {
    // Numbers of the first slot, of which the sequence passes 2^32 halfway.
    let numbers = || (0..EVENTS).map(|step| 4 * CROSSING + 8 * step - 4 * EVENTS);
    let (slot, is_over) = (Slot::default(), AtomicBool::new(false));
    let [before, after] = thread::scope(|scope| {
        scope.spawn(|| {
            numbers().for_each(|n| slot::publish(&slot, n, &event(n)));
            is_over.store(true, Ordering::Release);
        });
        let (mut latest, mut seen) = (0, [0, 0]);
        while !is_over.load(Ordering::Acquire) {
            if let SlotReading::Whole(seq, epoch) = slot::read(&slot) {
                let n = event_of(0, seq);
                assert_eq!((epoch, final_seq(n)), (event(n), seq));
                assert!(latest <= seq, "{seq:x} after {latest:x}");
                latest = seq;
                seen[usize::from(seq >> 32 != 0)] += 1;
            }
        }
        seen
    });
    assert!(0 < before && 0 < after, "{before} and {after} were read");
}

/// Every other time has a smaller lower half than the time before.
const STEP_NS: u64 = 0x9000_0001;

static MEMORY: Memory<2> = Memory::new();

struct Board;

#[expect(unsafe_code, reason = "vouches for having no `Local`")]
// SAFETY: there is no `Local`.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        static CLOCK: AtomicU64 = AtomicU64::new(STEP_NS);
        CLOCK.fetch_add(STEP_NS, Ordering::Relaxed)
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        static NUMBER: AtomicU32 = AtomicU32::new(7);
        &NUMBER
    }
}

/// The memory as a reader of a dump sees it.
#[expect(unsafe_code, reason = "a static of the test's own as a region")]
fn region() -> Region<'static> {
    let (base, bytes) = MEMORY.extent();
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    unsafe { Region::new(base as *mut u8, bytes, u32::MAX) }.expect("a memory is a region")
}

fn assert_is_time(at_ns: u64) {
    assert_eq!(at_ns % STEP_NS, 0, "{at_ns:x} is no time of the board");
}

/// Reads the words of a station until the writer is done. Returns the last head.
fn read_until(station: &Station, is_over: &AtomicBool) -> u64 {
    let (mut latest, mut latest_ns) = (0, 0);
    while !is_over.load(Ordering::Acquire) {
        let (head, at_ns) = (station.event_head(), station.latest_event_ns());
        if head >> 32 != u64::from(CHANGING) {
            assert!(latest <= head, "{head:x} after {latest:x}");
            latest = head;
        }
        if at_ns != 0 {
            assert_is_time(at_ns);
            assert!(latest_ns <= at_ns, "{at_ns:x} after {latest_ns:x}");
            latest_ns = at_ns;
        }
        assert_is_time(station.wakes().at_ns);
    }
    station.event_head()
}

// CTP-27, AGG-24
#[test]
fn head_and_times_are_read_whole_at_the_crossing() {
    let (region, is_over) = (region(), AtomicBool::new(false));
    let task = MEMORY.probe::<Board>().born("task");
    let rounds = EVENTS / 100;
    region.put_back(0, CROSSING - rounds);
    let (station, waker) = (&region.stations[0], task.waker());
    let head = thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for _ in 0..rounds {
                task.run();
                task.suspend(Wait::user(3));
            }
        });
        let is_over = &is_over;
        scope.spawn(move || {
            while !writer.is_finished() {
                waker.wake();
            }
            is_over.store(true, Ordering::Release);
        });
        read_until(station, is_over)
    });
    // The end of the coroutine is its last event.
    assert_eq!(head, CROSSING + rounds + 1);
    match slot::read(station.slot_of(head - 2)) {
        SlotReading::Whole(seq, epoch) => {
            assert_eq!((seq, epoch.arg), (final_seq(head - 2), 3));
        }
        other => panic!("{other:?}"),
    }
}

/// An interrupt handler that comes while the head of its own coroutine is half-written records no
/// event, because the number of the event is not known.
#[cfg(ctp_split_words)]
#[test]
fn event_within_a_half_written_head_is_counted_as_nested() {
    static HALTED: Memory<1> = Memory::new();
    let (base, bytes) = HALTED.extent();
    #[expect(unsafe_code, reason = "a static of the test's own as a region")]
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    let region = unsafe { Region::new(base as *mut u8, bytes, u32::MAX) }.expect("it is a region");
    let (station, task) = (&region.stations[0], HALTED.probe::<Board>().born("task"));
    region.put_back(0, CROSSING - 1);
    let seqs = station.seqs();
    region.put_back(0, u64::from(CHANGING) << 32);
    task.run();
    assert_eq!((station.nested(), station.seqs()), (1, seqs));
    region.put_back(0, CROSSING);
    task.run();
    assert_eq!((station.nested(), station.event_head()), (1, CROSSING + 1));
}
