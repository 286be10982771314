//! The ring that a thread has, kept where its events find it at once.
//!
//! ```text
//!   G1 nothing is at hand: room = none              a handler that comes before G3 finds no room, and
//!   G2 lane, records                                goes the slow way
//!   G3 room                   (`lane_room.rs`)
//! ```
//! Only the thread itself and its signal handlers come here. One that comes amid the looks at these
//! words may set another ring where the program has become another one, by a fork in it. So who has
//! looked asks for the word of the thread's lane once more, which then is another one too.
#![allow(unsafe_code, reason = "a reference does not fit into atomic words")]

use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};

use crate::lane::{Ring, Room};
use crate::layout::{Lane, LaneRecord};

/// Low bits of the word of the records: the logarithm of how many there are.
const LENGTH: usize = 31;
const _: () = assert!(align_of::<LaneRecord>() > LENGTH);

/// The ring of the lane that this thread has, and how much of it is known to be free.
#[derive(Debug)]
pub(crate) struct OwnRing {
    lane: AtomicPtr<Lane>,
    /// Where they begin, and how many there are: in one word, between whose parts nobody comes.
    records: AtomicPtr<LaneRecord>,
    room: AtomicU64,
}

impl OwnRing {
    /// None.
    pub const fn new() -> Self {
        OwnRing {
            lane: AtomicPtr::new(ptr::null_mut()),
            records: AtomicPtr::new(ptr::null_mut()),
            room: AtomicU64::new(Room::NONE.0),
        }
    }

    /// The thread has this ring from now on. There is no room in it before somebody has
    /// [looked](OwnRing::look).
    pub fn set(&self, ring: Ring<'static>) {
        self.forget(); // G1
        let Some(bits) = ring.records.len().checked_ilog2() else {
            return;
        };
        let length = LENGTH.min(bits as usize);
        let records = ring.records.as_ptr().cast_mut();
        let lane = ptr::from_ref(ring.lane).cast_mut();
        self.lane.store(lane, Ordering::Relaxed); // G2
        self.records
            .store(records.map_addr(|it| it | length), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread has no ring, until there is another one.
    pub fn forget(&self) {
        self.room.store(Room::NONE.0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Looks how much room there is in this ring, if no handler has set another one since it was found.
    pub fn look(&self, ring: Ring<'static>) {
        if ptr::eq(self.lane.load(Ordering::Relaxed), ring.lane) {
            self.room.store(ring.room().0, Ordering::Relaxed); // G3
        }
    }

    /// The ring that was set, and the room as of the latest look.
    #[inline(always)]
    pub fn at_hand(&self) -> Option<(Ring<'static>, Room)> {
        let room = Room(self.room.load(Ordering::Relaxed));
        if room == Room::NONE {
            return None;
        }
        compiler_fence(Ordering::SeqCst);
        let lane = self.lane.load(Ordering::Relaxed);
        let records = self.records.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let length = 1 << (records.addr() & LENGTH);
        // SAFETY: there is room, so somebody has looked since `set` stored both words, and they are
        // read after that. Each was taken, whole, from a reference for good, and is so valid by itself,
        // whatever handlers have come between these looks and set another ring.
        let (lane, records) = unsafe {
            let records = slice::from_raw_parts(records.map_addr(|it| it & !LENGTH), length);
            (&*lane, records)
        };
        Some((Ring::new(lane, records), room))
    }
}

impl Default for OwnRing {
    fn default() -> Self {
        Self::new()
    }
}
