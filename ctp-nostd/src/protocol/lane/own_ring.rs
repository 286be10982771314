//! A thread's own ring, cached for direct use by its events.
//!
//! ```text
//!   G1 no ring cached: mark = 0                     a handler that comes before G3 finds no ring, and
//!   G2 lane, records, mask; no room                 takes the slow path
//!   G3 mark
//!   G4 room                   (`room.rs`)
//! ```
//! Only the thread itself and its signal handlers use this. A handler that interrupts these steps
//! may set another ring if the program forked within the handler: the child has another attachment.
//! Each user of the ring detects this in its own way:
//!
//! - The interrupted caller of `set` finds that the word of the thread's lane has changed
//!   (`event/thread_lane.rs`), and forgets the ring.
//! - The interrupted caller of `set_room` finds another lane here, and clears the room.
//! - A reader reads the mark before and after the words. Each ring that is set has a distinct mark,
//!   so the words belong to the same ring if the mark is unchanged.
#![allow(unsafe_code, reason = "a reference does not fit into atomic words")]

use core::hint::assert_unchecked;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, compiler_fence};

use super::ring::Ring;
use super::room::Room;
use crate::memory::layout::{Lane, LaneRecord};
use crate::sync::private::{AtomicU32, AtomicU64};

/// Position of the attachment in the mark word.
const MARK_SHIFT: u32 = 31;

/// Identifies the attachment with the memory that holds a ring. Never 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingMark(u64);

impl RingMark {
    /// The mark of this attachment.
    pub fn of(attachment: u32) -> Self {
        RingMark(u64::from(attachment) + 1)
    }
}

/// The ring of this thread's lane, and how much of it is known to be free.
#[derive(Debug)]
pub(crate) struct OwnRing {
    /// {a [`RingMark`] | number of rings set so far, modulo 2^31}, 0 for none.
    mark: AtomicU64,
    sets: AtomicU32,
    lane: AtomicPtr<Lane>,
    /// The first record.
    records: AtomicPtr<LaneRecord>,
    /// The number of records minus 1.
    mask: AtomicUsize,
    room: AtomicU64,
}

impl OwnRing {
    /// No ring.
    pub const fn new() -> Self {
        OwnRing {
            mark: AtomicU64::new(0),
            sets: AtomicU32::new(0),
            lane: AtomicPtr::new(ptr::null_mut()),
            records: AtomicPtr::new(ptr::null_mut()),
            mask: AtomicUsize::new(0),
            room: AtomicU64::new(Room::NONE.0),
        }
    }

    /// Sets the ring of the thread. If a handler has set another ring in the meantime, the caller
    /// must [forget](OwnRing::forget) this one. The ring has no known room before the first call of
    /// [`set_room`](OwnRing::set_room).
    pub fn set(&self, ring: Ring<'static>, mark: RingMark) {
        self.forget(); // G1
        let Some(mask) = ring.records.len().checked_sub(1) else {
            return;
        };
        let lane = ptr::from_ref(ring.lane).cast_mut();
        let records = ring.records.as_ptr().cast_mut();
        self.lane.store(lane, Ordering::Relaxed); // G2
        self.records.store(records, Ordering::Relaxed);
        self.mask.store(mask, Ordering::Relaxed);
        self.clear_room();
        let number = self.sets.fetch_add(1, Ordering::Relaxed) % (1 << MARK_SHIFT);
        let mark = mark.0 << MARK_SHIFT | u64::from(number);
        self.mark.store(mark, Ordering::Relaxed); // G3
        compiler_fence(Ordering::SeqCst);
    }

    /// Clears the ring, until another ring is set.
    pub fn forget(&self) {
        self.mark.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Clears the known room, until the next call of [`set_room`](OwnRing::set_room).
    pub fn clear_room(&self) {
        self.room.store(Room::NONE.0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Stores the room of this ring, unless a handler has set another ring since the room was found.
    pub fn set_room(&self, ring: Ring<'static>, room: Room) {
        if !self.is(ring) {
            return;
        }
        self.room.store(room.0, Ordering::Relaxed); // G4
        compiler_fence(Ordering::SeqCst);
        if !self.is(ring) {
            self.clear_room(); // a handler has interrupted this function
        }
    }

    fn is(&self, ring: Ring<'static>) -> bool {
        ptr::eq(self.lane.load(Ordering::Relaxed), ring.lane)
    }

    /// The ring, if it was set with this mark, and the room found by the latest check, which may be
    /// none.
    #[inline(always)]
    pub fn cached(&self, mark: RingMark) -> Option<(Ring<'static>, Room)> {
        let found = self.mark.load(Ordering::Relaxed);
        if found >> MARK_SHIFT != mark.0 {
            return None;
        }
        compiler_fence(Ordering::SeqCst);
        let room = Room(self.room.load(Ordering::Relaxed));
        let lane = self.lane.load(Ordering::Relaxed);
        let records = self.records.load(Ordering::Relaxed);
        let mask = self.mask.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if self.mark.load(Ordering::Relaxed) != found {
            return None;
        }
        // SAFETY: `set` stored the words before it stored this mark, and they are read after the
        // mark. The mark did not change between the two loads, so no handler has set another ring,
        // which would have another mark. So the words come from `'static` references, to a lane and
        // to `mask + 1` records, at least one.
        let (lane, records) = unsafe {
            assert_unchecked(mask < usize::MAX);
            (&*lane, slice::from_raw_parts(records, mask + 1))
        };
        Some((Ring::new(lane, records), room))
    }
}

impl Default for OwnRing {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    extern crate std;

    use std::boxed::Box;
    use std::vec::Vec;

    use super::*;

    fn ring(records: usize) -> Ring<'static> {
        let records: Vec<_> = (0..records).map(|_| LaneRecord::default()).collect();
        Ring::new(Box::leak(Box::default()), Vec::leak(records))
    }

    // LT-33
    #[test]
    fn each_set_ring_has_a_distinct_mark() {
        let (own, mark) = (OwnRing::new(), RingMark::of(0));
        assert!(own.cached(mark).is_none(), "nothing was set");
        let marks = [ring(1), ring(8)].map(|ring| {
            own.set(ring, mark);
            let (found, room) = own.cached(mark).expect("just set");
            assert_eq!(
                (found.records.len(), room),
                (ring.records.len(), Room::NONE)
            );
            assert!(own.cached(RingMark::of(1)).is_none());
            own.mark.load(Ordering::Relaxed)
        });
        assert_ne!(marks[0], marks[1]);
        own.forget();
        assert!(own.cached(mark).is_none());
    }
}
