//! The ring that a thread has, kept where its events find it at once.
//!
//! ```text
//!   G1 nothing is at hand: mark = 0                 a handler that comes before G3 finds no ring, and
//!   G2 lane, records, mask; no room                 goes the slow way
//!   G3 mark
//!   G4 room                   (`lane_room.rs`)
//! ```
//! Only the thread itself and its signal handlers come here. One that comes amid these steps may set
//! another ring where the program has become another one, by a fork in it: that has another attachment.
//! Who has set one or has looked for room finds that out, and forgets the ring: of the set ring by the
//! word of the thread's lane (`thread_lane.rs`), which the handler has written too. Who has looked for the
//! ring asks for the mark once more, before what it has read is taken to be of one ring.
#![allow(unsafe_code, reason = "a reference does not fit into atomic words")]

use core::hint::assert_unchecked;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use crate::lane::{Ring, Room};
use crate::layout::{Lane, LaneRecord};

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
    /// A [`RingMark`], 0 for none.
    mark: AtomicU64,
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
            mark: AtomicU64::new(0),
            lane: AtomicPtr::new(ptr::null_mut()),
            records: AtomicPtr::new(ptr::null_mut()),
            mask: AtomicUsize::new(0),
            room: AtomicU64::new(Room::NONE.0),
        }
    }

    /// The thread has this ring from now on, unless a handler has set another one meanwhile: then it is to
    /// be [forgotten](OwnRing::forget). There is no room in it before somebody has
    /// [looked](OwnRing::look).
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
        self.mark.store(mark.0, Ordering::Relaxed); // G3
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

    /// Looks how much room there is in this ring, if no handler has set another one since it was found.
    pub fn look(&self, ring: Ring<'static>) {
        if !self.is(ring) {
            return;
        }
        self.room.store(ring.room().0, Ordering::Relaxed); // G4
        compiler_fence(Ordering::SeqCst);
        if !self.is(ring) {
            self.forget(); // one has come amid this
        }
    }

    fn is(&self, ring: Ring<'static>) -> bool {
        ptr::eq(self.lane.load(Ordering::Relaxed), ring.lane)
    }

    /// The ring that was set with this mark, and the room as of the latest look, which may be none.
    #[inline(always)]
    pub fn at_hand(&self, mark: RingMark) -> Option<(Ring<'static>, Room)> {
        let is_set = || self.mark.load(Ordering::Relaxed) == mark.0;
        if !is_set() {
            return None;
        }
        compiler_fence(Ordering::SeqCst);
        let room = Room(self.room.load(Ordering::Relaxed));
        let lane = self.lane.load(Ordering::Relaxed);
        let records = self.records.load(Ordering::Relaxed);
        let mask = self.mask.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if !is_set() {
            return None;
        }
        // SAFETY: `set` stored the words before it stored this mark, and they are read after that; nobody
        // has come between these looks and set another ring, which would have another mark (a thread that
        // has a ring takes no other one of the same attachment, unless it has given that one back, which
        // it does not amid an event). So they were taken from references for good, to a lane and
        // to as many records as that, one or more.
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
