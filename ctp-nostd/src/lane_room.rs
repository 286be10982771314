//! Room in a lane, found once for many records: most of them need not look how far the recorder is.
//!
//! ```text
//!   V1 head -> h, tail -> t     as T1 and T2 of `lane.rs`
//!   V2 end = what comes first: t + length, or the end of the lap that h is in
//!   then, for each record, until its place is at `end`:
//!   T1 head -> h
//!   T2 h before `end`           written over: is the record there of the lap before, and committed?
//!   T3 to T6 as ever, and the lap is known
//! ```
//! The tail only goes on, so a place that was free stays so. Only the thread takes places.

use crate::lane::{LAP_SHIFT, Ring};
use crate::lane_record::{Payload, low_bits};
use crate::layout::LaneRecord;
use crate::sync::Ordering;

/// Places in a ring that are known to be free, {lap 15 | the one behind them 49}: from the thread's
/// head on, all in one lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(pub(crate) u64);

impl Room {
    /// No place.
    pub const NONE: Room = Room(0);

    #[inline(always)]
    fn end(self) -> u64 {
        low_bits(self.0, LAP_SHIFT)
    }

    #[inline(always)]
    fn lap(self) -> u64 {
        self.0 >> LAP_SHIFT
    }
}

/// A record that its thread has reserved.
#[derive(Clone, Copy, Debug)]
pub struct Place<'m> {
    pub(crate) record: &'m LaneRecord,
    pub(crate) lap: u64,
}

impl Place<'_> {
    /// The thread: fills it in.
    #[inline(always)]
    pub fn commit(&self, at: u64, payload: Payload) {
        let Place { record, lap } = *self;
        record.at.store(at, Ordering::Relaxed); // T5
        record.site.store(payload.to_site(), Ordering::Relaxed);
        record.arg.store(payload.arg, Ordering::Relaxed);
        let commit = payload.to_commit() | lap << LAP_SHIFT;
        record.commit.store(commit, Ordering::Release); // T6, pairs with R2
    }
}

impl<'m> Ring<'m> {
    /// The thread: which places are free from its head on, as far as can be told now.
    pub fn room(&self) -> Room {
        let (head, length) = (self.head(), self.length());
        let used = match self.is_overwritten {
            true => 0,
            false => head.wrapping_sub(self.lane.tail.load(Ordering::Acquire)), // V1, pairs with R5
        };
        let left_of_lap = length.wrapping_sub(head & length.wrapping_sub(1));
        let free = length.saturating_sub(used).min(left_of_lap); // V2
        match head.checked_add(free) {
            Some(end) if free > 0 && end >> LAP_SHIFT == 0 => {
                Room(self.lap(head) << LAP_SHIFT | end)
            }
            _ => Room::NONE,
        }
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
        if head >= room.end().saturating_sub(places.saturating_sub(1)) {
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
        commit.is_some_and(|commit| (commit >> LAP_SHIFT) + 1 == room.lap())
    }
}
