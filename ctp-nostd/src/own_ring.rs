//! The ring that a thread has, kept where its events find it at once.
//!
//! ```text
//!   G1 nothing is at hand: room = none              a handler that comes before G3 finds no room, and
//!   G2 which ring                                   goes the slow way
//!   G3 room                   (`lane.rs`, Room)
//! ```
//! Only the thread itself and its signal handlers come here. Whoever is amid G2 has said so in the
//! thread's word of its lane, and its handlers neither set a ring then nor look.
#![allow(unsafe_code, reason = "a reference does not fit into atomic words")]

use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use crate::lane::{Ring, Room};
use crate::layout::{Lane, LaneRecord};

/// The ring of the lane that this thread has, and how much of it is known to be free.
#[derive(Debug)]
pub(crate) struct OwnRing {
    lane: AtomicPtr<Lane>,
    records: AtomicPtr<LaneRecord>,
    length: AtomicUsize,
    room: AtomicU64,
}

impl OwnRing {
    /// None.
    pub const fn new() -> Self {
        OwnRing {
            lane: AtomicPtr::new(ptr::null_mut()),
            records: AtomicPtr::new(ptr::null_mut()),
            length: AtomicUsize::new(0),
            room: AtomicU64::new(Room::NONE.0),
        }
    }

    /// The thread has this ring from now on. There is no room in it before somebody has
    /// [looked](OwnRing::look).
    pub fn set(&self, ring: Ring<'static>) {
        self.forget(); // G1
        let lane = ptr::from_ref(ring.lane).cast_mut();
        self.lane.store(lane, Ordering::Relaxed); // G2
        let records = ring.records.as_ptr().cast_mut();
        self.records.store(records, Ordering::Relaxed);
        self.length.store(ring.records.len(), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread has no ring, until there is another one.
    pub fn forget(&self) {
        self.room.store(Room::NONE.0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Looks how much room there is in the ring that was set.
    pub fn look(&self, ring: Ring<'static>) {
        self.room.store(ring.room().0, Ordering::Relaxed); // G3
    }

    /// The ring that was set, and the room as of the latest look.
    #[inline(always)]
    pub fn at_hand(&self) -> Option<(Ring<'static>, Room)> {
        let room = Room(self.room.load(Ordering::Relaxed));
        if room == Room::NONE {
            return None;
        }
        let (lane, records) = (&self.lane, &self.records);
        let length = self.length.load(Ordering::Relaxed);
        // SAFETY: there is room, so somebody has looked since `set` stored these three words, which it
        // took from references for good. They are of one ring: only this thread and its handlers
        // write them, and while one of these is in `set` there is no room.
        let (lane, records) = unsafe {
            let records = slice::from_raw_parts(records.load(Ordering::Relaxed), length);
            (&*lane.load(Ordering::Relaxed), records)
        };
        Some((Ring::new(lane, records), room))
    }
}

impl Default for OwnRing {
    fn default() -> Self {
        Self::new()
    }
}
