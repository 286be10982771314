//! The ring that a thread has, kept where its events find it at once.
//!
//! ```text
//!   G1 nothing is at hand: mark = 0                 a handler that comes before G3 finds no ring, and
//!   G2 lane, records, mask; no room                 goes the slow way
//!   G3 mark
//!   G4 room                   (`room.rs`)
//! ```
//! Only the thread itself and its signal handlers come here. One that comes amid these steps may set
//! another ring where the program has become another one, by a fork in it: that has another attachment.
//! Who has set one finds that out by the word of the thread's lane (`event/thread_lane.rs`), which the handler has
//! written too, and forgets the ring; who has looked for room, by the lane. Each ring that is set
//! has a mark of its own, and who has looked for the ring asks for that once more, before what it has read
//! is taken to be of one ring.
#![allow(unsafe_code, reason = "a reference does not fit into atomic words")]

use core::hint::assert_unchecked;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use super::ring::Ring;
use super::room::Room;
use crate::memory::layout::{Lane, LaneRecord};

/// Where the attachment begins in the word of a ring.
const MARK_SHIFT: u32 = 31;

/// Of an attachment, in whose memory a ring is. Never 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingMark(u64);

impl RingMark {
    /// Of this one.
    pub fn of(attachment: u32) -> Self {
        RingMark(u64::from(attachment) + 1)
    }
}

/// The ring of the lane that this thread has, and how much of it is known to be free.
#[derive(Debug)]
pub(crate) struct OwnRing {
    /// {a [`RingMark`] | so many have been set, modulo 2^31}, 0 for none.
    mark: AtomicU64,
    sets: AtomicU32,
    lane: AtomicPtr<Lane>,
    /// Where they begin.
    records: AtomicPtr<LaneRecord>,
    /// One less than there are.
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

    /// The thread has this ring from now on, unless a handler has set another one meanwhile: then it is to
    /// be [forgotten](OwnRing::forget). There is no room in it before somebody has
    /// [looked](OwnRing::has_room).
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
        self.has_no_room();
        let number = self.sets.fetch_add(1, Ordering::Relaxed) % (1 << MARK_SHIFT);
        let mark = mark.0 << MARK_SHIFT | u64::from(number);
        self.mark.store(mark, Ordering::Relaxed); // G3
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread has no ring, until another one is set.
    pub fn forget(&self) {
        self.mark.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// There is no room in it, until somebody looks again.
    pub fn has_no_room(&self) {
        self.room.store(Room::NONE.0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// There is this room in this ring, if no handler has set another one since it was found.
    pub fn has_room(&self, ring: Ring<'static>, room: Room) {
        if !self.is(ring) {
            return;
        }
        self.room.store(room.0, Ordering::Relaxed); // G4
        compiler_fence(Ordering::SeqCst);
        if !self.is(ring) {
            self.has_no_room(); // one has come amid this
        }
    }

    fn is(&self, ring: Ring<'static>) -> bool {
        ptr::eq(self.lane.load(Ordering::Relaxed), ring.lane)
    }

    /// The ring, if it was set with this mark, and the room as of the latest look, which may be none.
    #[inline(always)]
    pub fn at_hand(&self, mark: RingMark) -> Option<(Ring<'static>, Room)> {
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
        // SAFETY: `set` stored the words before it stored this mark, and they are read after that; nobody
        // has come between these looks and set another ring, which would have another mark. So they were
        // taken from references for good, to a lane and to as many records as that, one or more.
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
    fn each_ring_that_is_set_has_a_mark_of_its_own() {
        let (own, mark) = (OwnRing::new(), RingMark::of(0));
        assert!(own.at_hand(mark).is_none(), "nothing was set");
        let marks = [ring(1), ring(8)].map(|it| {
            own.set(it, mark);
            let (found, room) = own.at_hand(mark).expect("it was just set");
            assert_eq!((found.records.len(), room), (it.records.len(), Room::NONE));
            assert!(own.at_hand(RingMark::of(1)).is_none());
            own.mark.load(Ordering::Relaxed)
        });
        assert_ne!(marks[0], marks[1]);
        own.forget();
        assert!(own.at_hand(mark).is_none());
    }
}
