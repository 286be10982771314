//! The ring of a lane: a thread reserves positions in it, and the recorder reads its records. The
//! steps are those of `lane.rs`.

use core::ops::Range;

use super::claim::GIVEN_BACK;
use super::copy::Copied;
use super::record::{Payload, ThreadEventKind};
use super::reserved_record::ReservedRecord;
use crate::memory::layout::{Lane, LaneRecord};
use crate::sync::{self, Ordering, fence};

const LAPS: u64 = (1 << 15) - 1;
pub(crate) const LAP_SHIFT: u32 = Payload::COMMIT_BITS;

/// A lane and its records, a power of two of them.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'m> {
    pub(crate) lane: &'m Lane,
    pub(crate) records: &'m [LaneRecord],
    pub(crate) is_overwritten: bool,
}

/// The state of a record in a ring that is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordState {
    /// The whole record.
    Whole(Copied),
    /// The record was reserved and is not committed.
    Pending,
    /// A later record has overwritten this record, or is about to.
    Overwritten,
}

impl<'m> Ring<'m> {
    /// The number of records must be a power of two.
    pub fn new(lane: &'m Lane, records: &'m [LaneRecord]) -> Self {
        Ring {
            lane,
            records,
            is_overwritten: false,
        }
    }

    /// Sets whether new records overwrite the oldest ones in this ring.
    #[must_use]
    pub fn overwritten(self, is_overwritten: bool) -> Self {
        Ring {
            is_overwritten,
            ..self
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.records.len() as u64
    }

    #[inline(always)]
    pub(crate) fn record(&self, at: u64) -> Option<&'m LaneRecord> {
        self.records
            .get(at as usize & self.records.len().wrapping_sub(1))
    }

    #[inline(always)]
    pub(crate) fn place(&self, at: u64, lap: u64) -> Option<ReservedRecord<'m>> {
        let record = self.record(at)?;
        Some(ReservedRecord { record, lap })
    }

    #[inline(always)]
    pub(crate) fn lap(&self, at: u64) -> u64 {
        let laps = at >> self.length().trailing_zeros();
        // A division takes longer than everything else here, and is rarely needed.
        if laps < LAPS {
            laps + 1
        } else {
            laps % LAPS + 1
        }
    }

    /// The thread: reserves the next position. Returns the time, and the position, if there is room.
    #[inline]
    pub fn reserve(&self, now: impl Fn() -> u64) -> (u64, Option<ReservedRecord<'m>>) {
        loop {
            let head = self.head(); // T1
            let is_full = self.is_full(head); // T2
            let at = now(); // T3
            if is_full {
                if self.head() != head {
                    // A handler came between, and the recorder may have read the handler's record.
                    continue;
                }
                self.count_lost();
                return (at, None);
            }
            if self.take(head, 1) {
                return (at, self.place(head, self.lap(head) << LAP_SHIFT)); // T4
            }
        }
    }

    #[inline(always)]
    fn is_full(&self, head: u64) -> bool {
        if self.is_overwritten {
            let before = head.wrapping_sub(self.length());
            return !self.is_committed(before) && self.is_of_thread(before);
        }
        let tail = self.lane.tail.load(Ordering::Acquire); // pairs with S5
        head.wrapping_sub(tail) >= self.length()
    }

    /// Advances the head. Returns false if a handler has moved the head.
    #[inline(always)]
    pub(crate) fn take(&self, head: u64, places: u64) -> bool {
        let is_taken = sync::exchange(&self.lane.head, head, head.wrapping_add(places));
        if self.is_overwritten && is_taken {
            fence(Ordering::Release); // pairs with O3
        }
        is_taken
    }

    #[inline]
    fn is_committed(&self, at: u64) -> bool {
        let commit = self
            .record(at)
            .map(|record| record.commit.load(Ordering::Relaxed));
        commit.is_some_and(|commit| commit >> LAP_SHIFT == self.lap(at))
    }

    /// Whether this record was reserved by the thread that has the lane now.
    fn is_of_thread(&self, at: u64) -> bool {
        let since = self.lane.tail.load(Ordering::Relaxed);
        at.wrapping_sub(since) <= u64::MAX / 2
    }

    /// The thread, before its first record: in a lane that is overwritten, notes that records from
    /// here on are its own.
    pub fn take_over(&self) {
        if self.is_overwritten {
            self.lane.tail.store(self.head(), Ordering::Relaxed);
        }
    }

    /// Uses an atomic add, because handlers count here too.
    #[cold]
    fn count_lost(&self) {
        self.lane.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// How many records were reserved. Use [`read`](Ring::read) for their content.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.lane.head.load(Ordering::Relaxed) // S1
    }

    /// Recorder: the memory of these records, which is the same for all laps. If the records span
    /// two laps, only those of the first lap.
    pub fn places(&self, records: Range<u64>) -> &'m [LaneRecord] {
        let first = (records.start as usize) & self.records.len().wrapping_sub(1);
        let count = records.end.wrapping_sub(records.start) as usize;
        let end = first.saturating_add(count).min(self.records.len());
        self.records.get(first..end).unwrap_or_default()
    }

    /// Recorder: how many records the recorder has released. In a lane that is overwritten: the
    /// head when the thread took the lane.
    pub fn tail(&self) -> u64 {
        self.lane.tail.load(Ordering::Relaxed)
    }

    /// Recorder: the number of records in the ring.
    pub fn capacity(&self) -> u64 {
        self.length()
    }

    /// Recorder: records that found no room, modulo 2^32.
    pub fn lost(&self) -> u32 {
        self.lane.lost.load(Ordering::Relaxed)
    }

    /// Recorder: whether a thread has ever had the lane.
    pub fn is_used(&self) -> bool {
        self.lane.thread.load(Ordering::Relaxed) != 0
    }

    /// Recorder: copies this record, if it is committed.
    #[inline]
    pub fn copy(&self, at: u64) -> Option<Copied> {
        copy_of_lap(self.record(at)?, self.lap(at))
    }

    /// Recorder: copies these records, up to the first that is not committed. If they span two
    /// laps, only those of the first lap.
    #[inline]
    pub fn copies(&self, records: Range<u64>) -> impl Iterator<Item = Copied> + use<'m> {
        let places = self.places(records.clone());
        let lap = match places {
            [] => 0,
            _ => self.lap(records.start),
        };
        places
            .iter()
            .map_while(move |record| copy_of_lap(record, lap))
    }

    /// Recorder: reads this record of a ring that is overwritten.
    #[inline]
    pub fn see(&self, at: u64) -> RecordState {
        let copied = self.copy(at); // O1, O2
        fence(Ordering::Acquire); // O3, pairs with T4
        let has_passed = self.head().wrapping_sub(at) > self.length(); // O4
        match copied {
            _ if has_passed => RecordState::Overwritten,
            Some(copied) => RecordState::Whole(copied),
            None => RecordState::Pending,
        }
    }

    /// The first record that is not overwritten, at the time of the call.
    pub fn oldest(&self) -> u64 {
        self.head().saturating_sub(self.length())
    }

    /// Time of the latest record; 0 if there is none, or if it is not committed.
    pub fn latest_at(&self) -> u64 {
        let latest = self.head().wrapping_sub(1);
        self.read(latest).map_or(0, |(at, _)| at)
    }

    /// Recorder: the thread that has the lane, or had it when it died; `None` if the lane was given
    /// back or never used.
    pub fn holder(&self) -> Option<u32> {
        let thread = self.lane.thread.load(Ordering::Relaxed);
        (![0, GIVEN_BACK].contains(&thread)).then_some(thread)
    }

    /// Recorder: the time and payload of this record, if it is committed.
    #[inline]
    pub fn read(&self, at: u64) -> Option<(u64, Payload)> {
        self.copy(at).map(|copied| copied.read())
    }

    /// Recorder: was this uncommitted record reserved by a thread that has exited? True if a later
    /// record says that another thread has the lane.
    pub fn is_abandoned(&self, at: u64, limit: u64) -> bool {
        let later = (at.wrapping_add(1)..limit).take(self.records.len());
        later
            .filter_map(|at| self.read(at))
            .any(|(_, payload)| payload.kind == ThreadEventKind::Begin as u8)
    }

    /// Recorder: allows all records before position `tail` to be overwritten.
    pub fn release(&self, tail: u64) {
        self.lane.tail.store(tail, Ordering::Release); // S5, pairs with T2
    }
}

#[inline(always)]
fn copy_of_lap(record: &LaneRecord, lap: u64) -> Option<Copied> {
    let commit = record.commit.load(Ordering::Acquire); // S2, pairs with T6
    if commit >> LAP_SHIFT != lap {
        return None;
    }
    Some(Copied {
        commit,
        at: record.at.load(Ordering::Relaxed), // S3
        site: record.site.load(Ordering::Relaxed),
        arg: record.arg.load(Ordering::Relaxed),
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::array;

    use super::*;

    // LT-05
    #[test]
    fn copies_are_of_a_single_lap_even_at_wraparound() {
        let lane = Lane::default();
        let records: [LaneRecord; 4] = array::from_fn(|_| LaneRecord::default());
        let ring = Ring::new(&lane, &records);
        let first = 0u64.wrapping_sub(3);
        for n in 0..4 {
            let at = first.wrapping_add(n);
            let place = ring.place(at, ring.lap(at) << LAP_SHIFT);
            let payload = Payload {
                n,
                ..Payload::default()
            };
            place.expect("a position of the ring").commit(n, payload);
        }
        let numbers = |records| ring.copies(records).map(|copied| copied.read().1.n);
        assert!(numbers(first..1).eq([0, 1, 2]));
        assert!(numbers(0..1).eq([3]));
        assert!(numbers(0..4).eq([3]), "the others are of the lap before");
    }

    // LT-05
    #[test]
    fn empty_ring_has_no_copies() {
        let lane = Lane::default();
        assert_eq!(Ring::new(&lane, &[]).copies(0..3).count(), 0);
    }
}
