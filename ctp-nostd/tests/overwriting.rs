//! Lanes that are overwritten, with signal handlers that interrupt a record. Here, the handler is
//! the clock that a record reads, or code between the two steps of a record.

use std::cell::Cell;

use ctp_nostd::lane::{Payload, RecordState, ReservedRecord, Ring, Room};
use ctp_nostd::layout::{Lane, LaneRecord};

const LENGTH: u64 = 8;

struct Memory {
    lane: Lane,
    records: [LaneRecord; LENGTH as usize],
    room: Cell<Room>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            lane: Lane::default(),
            records: Default::default(),
            room: Cell::new(Room::NONE),
        }
    }
}

impl Memory {
    fn ring(&self) -> Ring<'_> {
        Ring::new(&self.lane, &self.records).overwritten(true)
    }

    /// Writes records with these numbers.
    fn write(&self, numbers: std::ops::Range<u64>) {
        for n in numbers {
            if let (at, Some(place)) = self.reserve(n) {
                place.commit(at, numbered(n));
            }
        }
    }

    /// Reserves a position in the known room, or else by a new check.
    fn reserve(&self, n: u64) -> (u64, Option<ReservedRecord<'_>>) {
        let (ring, room) = (self.ring(), self.room.get());
        if let Some((at, place)) = ring.reserve_in(room, 1, || Some(n)) {
            return (at, ring.place_in(room, place));
        }
        let reserved = ring.reserve(|| n);
        self.room.set(ring.room());
        reserved
    }

    fn whole(&self) -> Vec<u64> {
        let ring = self.ring();
        (ring.oldest()..ring.head())
            .filter_map(|at| match ring.see(at) {
                RecordState::Whole(copied) => Some(copied.read().1.n),
                _ => None,
            })
            .collect()
    }
}

fn numbered(n: u64) -> Payload {
    Payload {
        kind: 2,
        n,
        arg: n,
        ..Payload::default()
    }
}

// LT-08
#[test]
fn newest_records_up_to_the_capacity_are_kept() {
    let memory = Memory::default();
    memory.write(0..10 * LENGTH + 3);
    let newest: Vec<u64> = (9 * LENGTH + 3..10 * LENGTH + 3).collect();
    assert_eq!(memory.whole(), newest);
    assert_eq!(memory.ring().oldest(), 9 * LENGTH + 3);
    assert_eq!(memory.ring().lost(), 0);
    assert_eq!(memory.ring().see(9 * LENGTH + 2), RecordState::Overwritten);
}

// LT-05
#[test]
fn handlers_leave_the_interrupted_record_alone() {
    let memory = Memory::default();
    memory.write(0..3);
    let (at, place) = memory.reserve(3);
    let place = place.expect("there is always room");
    memory.write(4..4 + 3 * LENGTH);
    assert_eq!(memory.ring().see(3), RecordState::Pending);
    let kept: Vec<u64> = (4..4 + LENGTH - 1).collect();
    assert_eq!(memory.whole(), kept, "those before the missing record");
    assert_eq!(
        u64::from(memory.ring().lost()),
        2 * LENGTH + 1,
        "and the others are counted"
    );
    place.commit(at, numbered(3));
    memory.write(100..101);
    let kept: Vec<u64> = (4..4 + LENGTH - 1).chain([100]).collect();
    assert_eq!(memory.whole(), kept, "continues after the late record");
}

// LT-28
#[test]
fn record_left_by_a_dead_thread_is_overwritten() {
    let memory = Memory::default();
    memory.write(0..3);
    assert!(memory.reserve(3).1.is_some());
    memory.ring().take_over();
    memory.write(10..10 + 2 * LENGTH);
    let newest: Vec<u64> = (10 + LENGTH..10 + 2 * LENGTH).collect();
    assert_eq!(memory.whole(), newest);
    assert_eq!(memory.ring().lost(), 0);
}
