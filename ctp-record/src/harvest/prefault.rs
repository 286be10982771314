//! Prefaults pages of lanes, so that they exist before their threads write to them. The first touch of a
//! page of shared memory makes a thread wait until the kernel has found and cleared a page. In a lane's
//! first lap this costs as much as all other work of recording.
//!
//! ```text
//!   0           head            done            end                  capacity
//!   |== written ==|--- exists ----|-- made now --|......................|
//!                 |<- three times the records ->|
//!                    since the last prefault
//! ```
//! A thread that writes little gets few pages, and an idle thread gets none. A thread as fast as the
//! prefaulting also gets none, because it would reach each page first. Of the lanes that no thread has
//! claimed, the next few get their first page, which is mapped for the program too (`mapped.rs`).

use std::ops::Range;

use ctp_nostd::layout::LaneRecord;

/// Records in a page, the unit in which the kernel provides memory.
pub(super) const RECORDS_PER_PAGE: u64 = (4096 / size_of::<LaneRecord>()) as u64;

/// Records that are prefaulted in a round at most: at 2 µs a page, this takes a millisecond.
pub(crate) const MAX_PREFAULT_RECORDS: u64 = 512 * RECORDS_PER_PAGE;

/// A thread that writes this many records in a millisecond would catch up with the prefaulting.
const TOO_FAST: u64 = MAX_PREFAULT_RECORDS / 2;

/// Lane records to prefault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefaultRange<'m> {
    pub records: &'m [LaneRecord],
    /// These are the first records of a lane that no thread has claimed.
    pub is_unclaimed: bool,
}

/// The progress of prefaulting a lane that a thread uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prefault {
    head: u64,
    prefaulted: u64,
}

/// The number of records to prefault for each record that was written since the last prefault.
const LOOKAHEAD: u64 = 3;

impl Prefault {
    /// The records to prefault, at most `most`, now that the lane's head has advanced to `head` within `elapsed_ms`.
    pub fn next(&mut self, head: u64, capacity: u64, most: u64, elapsed_ms: u64) -> Range<u64> {
        let advance = head.saturating_sub(self.head);
        self.head = head;
        let ahead = if advance < TOO_FAST.saturating_mul(elapsed_ms) {
            advance * LOOKAHEAD
        } else {
            0
        };
        let reach = head.saturating_add(ahead);
        let begin = self.prefaulted.max(head);
        let end = reach.min(capacity).min(begin.saturating_add(most));
        let range = begin..end.max(begin);
        self.prefaulted = range.end;
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 60_000;

    // LT-02
    #[test]
    fn records_of_the_first_lap_are_prefaulted_once_and_in_time() {
        let mut work = Prefault::default();
        assert_eq!(work.next(100, CAPACITY, 1_000, 1), 100..400);
        assert_eq!(work.next(300, CAPACITY, 1_000, 1), 400..900);
        assert!(work.next(300, CAPACITY, 1_000, 1).is_empty(), "it is idle");
        assert!(
            work.next(310, CAPACITY, 1_000, 1).is_empty(),
            "there is enough"
        );
        assert_eq!(
            work.next(9_000, CAPACITY, 300, 1),
            9_000..9_300,
            "no more is wanted"
        );
        let (most, quick) = (u64::MAX, 9_000 + TOO_FAST);
        assert!(
            work.next(quick, CAPACITY, most, 1).is_empty(),
            "it is too quick"
        );
        assert_eq!(
            work.next(quick + 100, CAPACITY, most, 1),
            quick + 100..quick + 400
        );
        assert_eq!(
            work.next(CAPACITY - 9, CAPACITY, most, 1),
            CAPACITY - 9..CAPACITY
        );
        let mut slow = Prefault::default();
        assert_eq!(slow.next(quick, CAPACITY, 1_000, 50), quick..quick + 1_000);
        let next_lap = CAPACITY + 9;
        assert!(work.next(next_lap, CAPACITY, most, 1).is_empty());
    }
}
