//! Known free room in a lane. A check finds room for many records, so that most records need not
//! read the tail.
//!
//! ```text
//!   V1 head -> h, tail -> t     as T1 and T2 of `lane.rs`
//!   V2 end = the first of: t + length, the end of the lap that h is in, of an eighth, of a stretch
//!      (see below)
//!   then, for each record, until its position is at `end`:
//!   T1 head -> h
//!   T2 h before `end`           overwritten: is the record there of the lap before, and committed?
//!   T3 to T6 as in `lane.rs`, and the lap is known
//! ```
//! The tail only grows, so a position that was free stays free. Only the thread takes positions.
//!
//! In the first lap of a long lane, the pages of the lane are new to the program. A write to such a
//! page waits until the kernel has found and mapped that page. A read of that page maps at once all
//! pages around it that exist already, and the recorder makes sure that they exist. So a room ends
//! at the end of a stretch of such pages ([`STRETCH_BYTES`]), and the second position of the room
//! is read first.
//!
//! A room also ends with an eighth of the lane, so that its thread can then ring the doorbell if the
//! recorder sleeps until a lane fills up (`doorbell.rs`).

use core::hint::black_box;
use core::ptr;

use super::reserved_record::ReservedRecord;
use super::ring::{LAP_SHIFT, Ring};
use crate::memory::layout::LaneRecord;
use crate::sync::Ordering;

/// A quarter of what Linux maps at once around an address that is read (`fault_around_bytes`). The
/// rest may not exist yet when the first quarter is begun.
const STRETCH_BYTES: usize = 1 << 14;

/// Number of parts of a lane. After each part, the thread checks whether the recorder must be
/// woken.
const EIGHTHS: u64 = 8;

/// Positions in a ring that are known to be free, {end of the room 49 | lap 15}: from the thread's
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

    /// The lap, as in a commit word.
    #[inline(always)]
    fn lap(self) -> u64 {
        self.0 << LAP_SHIFT
    }
}

impl<'m> Ring<'m> {
    /// The thread: finds the free positions from its head on, as of now.
    pub fn room(&self) -> Room {
        let (head, length) = (self.head(), self.length());
        let used = if self.is_overwritten {
            0
        } else {
            head.wrapping_sub(self.lane.tail.load(Ordering::Acquire)) // V1, pairs with S5
        };
        let left_of_lap = length.wrapping_sub(head & length.wrapping_sub(1));
        let free = length.saturating_sub(used).min(left_of_lap); // V2
        let free = free.min(self.left_of_eighth(head));
        let is_new = head < length && STRETCH_BYTES < size_of_val(self.records);
        let free = if is_new {
            free.min(self.stretch(head))
        } else {
            free
        };
        match head.checked_add(free) {
            Some(end) if free > 0 && end >> LAP_SHIFT == 0 => Room::new(end, self.lap(head)),
            _ => Room::NONE,
        }
    }

    /// The thread: the number of positions from `at` to the end of the eighth of the lane that contains the next
    /// position. So there are two positions for a caller that takes two.
    fn left_of_eighth(&self, at: u64) -> u64 {
        let eighth = (self.length() / EIGHTHS).max(1);
        1 + eighth - (at.wrapping_add(1) & (eighth - 1))
    }

    /// The thread: whether an eighth of the lane is full.
    pub fn is_filling(&self) -> bool {
        let used = self
            .head()
            .wrapping_sub(self.lane.tail.load(Ordering::Relaxed));
        !self.is_overwritten && self.length() / EIGHTHS <= used
    }

    /// Maps the page of the next record, before a thread would have to wait for that.
    #[cfg(feature = "linux")]
    pub(crate) fn touch(&self) {
        self.stretch(self.head());
    }

    /// The thread: the number of positions from `at` to the end of the stretch that contains the
    /// next position, which is read. So there are two positions for a caller that takes two.
    fn stretch(&self, at: u64) -> u64 {
        let Some(next) = self.record(at.wrapping_add(1)) else {
            return 0;
        };
        black_box(next.commit.load(Ordering::Relaxed));
        let offset_bytes = ptr::from_ref(next).addr() % STRETCH_BYTES;
        1 + ((STRETCH_BYTES - offset_bytes) / size_of::<LaneRecord>()) as u64
    }

    /// The thread: takes this many positions in one attempt. Returns the time and the first
    /// position. `None` if the room does not suffice, if a handler came between, or if the time is
    /// not available.
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
        if self.is_overwritten
            && !(0..places).all(|more| self.may_be_overwritten(room, head.wrapping_add(more)))
        {
            return None;
        }
        let at = now()?; // T3
        self.take(head, places).then_some((at, head)) // T4
    }

    /// The thread: a position that [`reserve_in`](Ring::reserve_in) took.
    #[inline(always)]
    pub fn place_in(&self, room: Room, at: u64) -> Option<ReservedRecord<'m>> {
        self.place(at, room.lap())
    }

    /// Whether the record at this position is committed, and of the lap before. In the first lap: whether
    /// the position is empty.
    #[inline(always)]
    fn may_be_overwritten(&self, room: Room, at: u64) -> bool {
        let commit = self
            .record(at)
            .map(|record| record.commit.load(Ordering::Relaxed));
        commit.is_some_and(|commit| (commit >> LAP_SHIFT) + 1 == room.lap() >> LAP_SHIFT)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::layout::Lane;

    const RECORDS: u64 = 8192;
    const STRETCH: u64 = (STRETCH_BYTES / size_of::<LaneRecord>()) as u64;

    /// The number of free positions from `head` on.
    fn room_at(ring: &Ring<'_>, head: u64) -> u64 {
        ring.lane.head.store(head, Ordering::Relaxed);
        ring.release(head);
        ring.room().end() - head
    }

    // LT-02
    #[test]
    fn room_ends_with_an_eighth_and_with_the_lap() {
        const EIGHTH: u64 = RECORDS / EIGHTHS;
        let lane = Lane::default();
        let records: [LaneRecord; RECORDS as usize] =
            core::array::from_fn(|_| LaneRecord::default());
        let ring = Ring::new(&lane, &records);
        assert_eq!(room_at(&ring, RECORDS), EIGHTH);
        assert_eq!(room_at(&ring, RECORDS + 9), EIGHTH - 9);
        assert_eq!(room_at(&ring, RECORDS + EIGHTH - 1), EIGHTH + 1);
        assert_eq!(room_at(&ring, 2 * RECORDS - 1), 1);
    }

    // LT-02
    #[test]
    fn a_lane_is_filling_from_an_eighth_on() {
        let lane = Lane::default();
        let records: [LaneRecord; 16] = core::array::from_fn(|_| LaneRecord::default());
        let ring = Ring::new(&lane, &records);
        ring.lane.head.store(101, Ordering::Relaxed);
        ring.release(100);
        assert!(!ring.is_filling());
        ring.release(99);
        assert!(ring.is_filling());
        assert!(!ring.overwritten(true).is_filling());
    }

    // LT-02
    #[test]
    fn room_ends_with_a_stretch_in_the_first_lap() {
        let lane = Lane::default();
        let records: [LaneRecord; RECORDS as usize] =
            core::array::from_fn(|_| LaneRecord::default());
        let ring = Ring::new(&lane, &records);
        let first = room_at(&ring, 0);
        assert!((2..=STRETCH + 1).contains(&first));
        assert_eq!(
            room_at(&ring, first),
            STRETCH.min(ring.left_of_eighth(first))
        );
        let for_two = (0..RECORDS - 1).all(|head| 2 <= room_at(&ring, head));
        assert!(for_two, "but for the last of a lap");
    }
}
