//! The ring that a thread has, kept where its events find it at once.
//!
//! ```text
//!   G1 nothing is at hand: room = none              a handler that comes before G3 finds no room, and
//!   G2 lane, records, mask                          goes the slow way
//!   G3 room                   (`lane_room.rs`)
//! ```
//! Only the thread itself and its signal handlers come here. One that comes amid these steps may set
//! another ring where the program has become another one, by a fork in it. Who has set one or has looked
//! for room finds that out, and forgets the ring: of the set ring by the word of the thread's lane
//! (`thread_lane.rs`), which the handler has written too. Who has looked for the ring asks for that word
//! once more, before what it has read is taken to be of one ring.
#![allow(unsafe_code, reason = "a reference does not fit into atomic words")]

use core::hint::assert_unchecked;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use crate::lane::{Ring, Room};
use crate::layout::{Lane, LaneRecord};

/// The ring of the lane that this thread has, and how much of it is known to be free.
#[derive(Debug)]
pub(crate) struct OwnRing {
    lane: AtomicPtr<Lane>,
    /// Where they begin.
    records: AtomicPtr<LaneRecord>,
    /// One less than there are.
    mask: AtomicUsize,
    room: AtomicU64,
}

impl OwnRing {
    /// None.
    pub const fn new() -> Self {
        OwnRing {
            lane: AtomicPtr::new(ptr::null_mut()),
            records: AtomicPtr::new(ptr::null_mut()),
            mask: AtomicUsize::new(0),
            room: AtomicU64::new(Room::NONE.0),
        }
    }

    /// The thread has this ring from now on, unless a handler has set another one meanwhile: then it is to
    /// be [forgotten](OwnRing::forget). There is no room in it before somebody has
    /// [looked](OwnRing::look).
    pub fn set(&self, ring: Ring<'static>) {
        self.forget(); // G1
        let Some(mask) = ring.records.len().checked_sub(1) else {
            return;
        };
        let lane = ptr::from_ref(ring.lane).cast_mut();
        let records = ring.records.as_ptr().cast_mut();
        self.lane.store(lane, Ordering::Relaxed); // G2
        self.records.store(records, Ordering::Relaxed);
        self.mask.store(mask, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread has no ring, until there is another one.
    pub fn forget(&self) {
        self.room.store(Room::NONE.0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Looks how much room there is in this ring, if no handler has set another one since it was found.
    pub fn look(&self, ring: Ring<'static>) {
        if !self.is(ring) {
            return;
        }
        self.room.store(ring.room().0, Ordering::Relaxed); // G3
        compiler_fence(Ordering::SeqCst);
        if !self.is(ring) {
            self.forget(); // one has come amid this
        }
    }

    fn is(&self, ring: Ring<'static>) -> bool {
        ptr::eq(self.lane.load(Ordering::Relaxed), ring.lane)
    }

    /// The ring that was set, and the room as of the latest look, if nobody has set another one
    /// meanwhile.
    #[inline(always)]
    pub fn at_hand(&self, is_undisturbed: impl FnOnce() -> bool) -> Option<(Ring<'static>, Room)> {
        let room = Room(self.room.load(Ordering::Relaxed));
        if room == Room::NONE {
            return None;
        }
        compiler_fence(Ordering::SeqCst);
        let lane = self.lane.load(Ordering::Relaxed);
        let records = self.records.load(Ordering::Relaxed);
        let mask = self.mask.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if !is_undisturbed() {
            return None;
        }
        // SAFETY: there is room, so somebody has looked since `set` stored the words, undisturbed, and
        // they are read after that; nobody has come between these looks and set another ring. So they
        // were taken from references for good, to a lane and to as many records as that, one or more.
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
