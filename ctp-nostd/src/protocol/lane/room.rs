//! Room in a lane, found once for many records: most of them need not look how far the recorder is.
//!
//! ```text
//!   V1 head -> h, tail -> t     as T1 and T2 of `lane.rs`
//!   V2 end = what comes first: t + length, the end of the lap that h is in, or of a stretch, see below
//!   then, for each record, until its place is at `end`:
//!   T1 head -> h
//!   T2 h before `end`           written over: is the record there of the lap before, and committed?
//!   T3 to T6 as ever, and the lap is known
//! ```
//! The tail only goes on, so a place that was free stays so. Only the thread takes places.
//!
//! In the first lap of a long lane its pages are new to the program. A thread that writes into such a
//! page waits until the kernel has found and mapped that one; one that reads from it has all those
//! around it mapped at once that are there already, and the recorder sees to it that they are. So a
//! room ends where such a stretch does, and its second place is read from.

use core::hint::black_box;
use core::ptr;

use super::place::Place;
use super::ring::{LAP_SHIFT, Ring};
use crate::memory::layout::LaneRecord;
use crate::sync::Ordering;

/// A quarter of what Linux maps at once around an address that is read from (`fault_around_bytes`):
/// the rest of that may not be there yet when the first quarter is begun.
const STRETCH_BYTES: usize = 1 << 14;

/// Places in a ring that are known to be free, {the one behind them 49 | lap 15}: from the thread's
/// head on, all in one lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(pub(crate) u64);

const LAP_BITS: u32 = u64::BITS - LAP_SHIFT;

impl Room {
    /// Room for no record.
    pub const NONE: Room = Room(0);

    fn new(end: u64, lap: u64) -> Self {
        Room(end << LAP_BITS | lap)
    }

    #[inline(always)]
    fn end(self) -> u64 {
        self.0 >> LAP_BITS
    }

    /// As it stands in a commit word.
    #[inline(always)]
    fn lap(self) -> u64 {
        self.0 << LAP_SHIFT
    }
}

impl<'m> Ring<'m> {
    /// The thread: which places are free from its head on, as far as can be told now.
    pub fn room(&self) -> Room {
        let (head, length) = (self.head(), self.length());
        let used = match self.is_overwritten {
            true => 0,
            false => head.wrapping_sub(self.lane.tail.load(Ordering::Acquire)), // V1, pairs with S5
        };
        let left_of_lap = length.wrapping_sub(head & length.wrapping_sub(1));
        let free = length.saturating_sub(used).min(left_of_lap); // V2
        let is_new = head < length && STRETCH_BYTES < size_of_val(self.records);
        let free = match is_new {
            true => free.min(self.stretch(head)),
            false => free,
        };
        match head.checked_add(free) {
            Some(end) if free > 0 && end >> LAP_SHIFT == 0 => Room::new(end, self.lap(head)),
            _ => Room::NONE,
        }
    }

    /// Has the place of the next record mapped, before there is a thread that would wait for that.
    #[cfg(feature = "linux")]
    pub(crate) fn touch(&self) {
        self.stretch(self.head());
    }

    /// The thread: how many places there are from this one to the end of the stretch in which the next
    /// one is, which is read from: there are two for who takes two.
    fn stretch(&self, at: u64) -> u64 {
        let Some(next) = self.record(at.wrapping_add(1)) else {
            return 0;
        };
        black_box(next.commit.load(Ordering::Relaxed));
        let gone_bytes = ptr::from_ref(next).addr() % STRETCH_BYTES;
        1 + ((STRETCH_BYTES - gone_bytes) / size_of::<LaneRecord>()) as u64
    }

    /// The thread: takes so many places, in one attempt; gives the time and the first of them. Nothing
    /// if there is no such room, if a handler came between, or if the time cannot be told.
    #[inline(always)]
    pub fn reserve_in(
        &self,
        room: Room,
        places: u64,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<(u64, u64)> {
        let head = self.head(); // T1
        if head.wrapping_add(places.saturating_sub(1)) >= room.end() {
            return None; // T2
        }
        let may_be = |more| self.may_be_overwritten(room, head.wrapping_add(more));
        if self.is_overwritten && !(0..places).all(may_be) {
            return None;
        }
        let at = now()?; // T3
        self.take(head, places).then_some((at, head)) // T4
    }

    /// The thread: one of those places.
    #[inline(always)]
    pub fn place_in(&self, room: Room, at: u64) -> Option<Place<'m>> {
        self.place(at, room.lap())
    }

    /// Is what stands there of the lap before, and committed? In the first lap, does nothing stand there?
    #[inline(always)]
    fn may_be_overwritten(&self, room: Room, at: u64) -> bool {
        let commit = self.record(at).map(|it| it.commit.load(Ordering::Relaxed));
        commit.is_some_and(|commit| (commit >> LAP_SHIFT) + 1 == room.lap() >> LAP_SHIFT)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::layout::Lane;

    const RECORDS: u64 = 2048;
    const STRETCH: u64 = (STRETCH_BYTES / size_of::<LaneRecord>()) as u64;

    /// How many there are from `head` on.
    fn room_at(ring: &Ring<'_>, head: u64) -> u64 {
        ring.lane.head.store(head, Ordering::Relaxed);
        ring.release(head);
        ring.room().end() - head
    }

    // LT-02
    #[test]
    fn a_room_ends_with_a_stretch_in_the_first_lap_and_with_the_lap_from_then_on() {
        let lane = Lane::default();
        let records: [LaneRecord; RECORDS as usize] =
            core::array::from_fn(|_| LaneRecord::default());
        let ring = Ring::new(&lane, &records);
        let first = room_at(&ring, 0);
        assert!((2..=STRETCH + 1).contains(&first));
        assert_eq!(room_at(&ring, first), STRETCH);
        assert_eq!(room_at(&ring, RECORDS), RECORDS);
        assert_eq!(room_at(&ring, RECORDS + first), RECORDS - first);
        let for_two = (0..RECORDS - 1).all(|head| 2 <= room_at(&ring, head));
        assert!(for_two, "but for the last of a lap");
    }
}
