//! Compact memory: stations with two slots.

use ctp_nostd::layout::{Compact, CompactStation};
use ctp_nostd::slot::{final_seq_in, index_in};
use ctp_nostd::{CompactMemory, CompactRegion, Refused};

use super::*;

/// A board on which a handler can interrupt an event.
#[derive(Debug)]
struct Small;

static MEMORY: CompactMemory<2, 4> = CompactMemory::new();

std::thread_local! {
    /// The number of events that a handler records within the next event.
    static HANDLER: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    static TASK: std::cell::OnceCell<Coroutine<Small, Compact>> = const { std::cell::OnceCell::new() };
}

// SAFETY: one thread uses this platform, and no other platform has its `Local`.
#[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
unsafe impl Platform for Small {
    fn now_ns() -> u64 {
        static CLOCK: AtomicU64 = AtomicU64::new(1000);
        CLOCK.fetch_add(10, Ordering::Relaxed)
    }

    fn thread() -> u64 {
        // Called within an event, after the event has its number.
        for _ in 0..HANDLER.replace(0) {
            TASK.with(|task| task.get().expect("there is a task").run());
        }
        7
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        static NUMBER: AtomicU32 = AtomicU32::new(31);
        &NUMBER
    }
}

#[expect(unsafe_code, reason = "a static of the test's own as a region")]
fn region() -> CompactRegion<'static> {
    let (base, bytes) = MEMORY.extent();
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    unsafe { CompactRegion::new(base as *mut u8, bytes, u32::MAX) }.expect("a memory is a region")
}

/// The latest two events: their numbers and kinds.
fn held(station: &CompactStation) -> Vec<(u64, u8)> {
    let head = station.event_head();
    let latest = (head.saturating_sub(2)..head).map(|n| {
        match slot::read(&station.slots()[index_in::<Compact>(n)]) {
            SlotReading::Whole(seq, epoch) if seq == final_seq_in::<Compact>(n) => {
                (n, epoch.tail.kind)
            }
            other => panic!("event {n}: {other:?}"),
        }
    });
    latest.collect()
}

// CTP-07, CTP-30
#[test]
fn compact_station_keeps_the_latest_two_events() {
    let task = MEMORY
        .probe::<Small>()
        .born("a name of more than twenty-four bytes");
    let region = region();
    let station = &region.stations[0];
    assert_eq!(held(station), [(0, BIRTH)]);
    for step in 0..5 {
        task.run();
        assert_eq!(
            held(station),
            [
                (2 * step, if step == 0 { BIRTH } else { SUSPEND }),
                (2 * step + 1, RUN)
            ]
        );
        task.suspend(Wait::user(3));
        assert_eq!(
            held(station),
            [(2 * step + 1, RUN), (2 * step + 2, SUSPEND)]
        );
    }
    task.waker().wake();
    assert_eq!(station.wakes().count, 1);
    TASK.with(|cell| cell.set(task).expect("set once"));
    let (head, nested) = (station.event_head(), station.nested());
    HANDLER.set(2);
    TASK.with(|task| task.get().expect("there is a task").suspend(Wait::user(4)));
    assert_eq!(
        held(station),
        [(head, SUSPEND), (head + 1, RUN)],
        "the handler's first event is kept"
    );
    assert_eq!(station.nested(), nested + 1, "the second is counted");
}

// CTP-01
#[test]
fn reader_of_either_layout_refuses_the_other() {
    static FULL: Memory<1, 1> = Memory::new();
    let [compact, full] = [MEMORY.extent(), FULL.extent()];
    #[expect(unsafe_code, reason = "statics of the test's own as regions")]
    // SAFETY: statics are mapped for ever, and all of their words are atomics.
    let refused = unsafe {
        [
            Region::new(compact.0 as *mut u8, compact.1, 1).map(|_| ()),
            CompactRegion::new(full.0 as *mut u8, full.1, 1).map(|_| ()),
        ]
    };
    assert!(
        refused
            .iter()
            .all(|refused| matches!(refused, Err(Refused::Magic(_))))
    );
}
