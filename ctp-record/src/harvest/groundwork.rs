//! Pages of lanes that are there before their threads come to them: who touches a page of shared
//! memory first waits until the kernel has found and cleared one, which in the first lap costs a
//! program as much as all else that it records.
//!
//! ```text
//!   0           head            laid           reach                 capacity
//!   |== written ==|-- is there ---|-- laid now --|......................|
//!                 |<- three times what came ---->|
//!                     since the last look
//! ```
//! So a thread that writes little has little laid for it, and one that is idle nothing; nor has one
//! that is as quick as pages are laid, which would be there first. Of lanes that nobody has taken yet
//! the next few have their first page, and that is mapped for the program too (`mapped.rs`).

use std::ops::Range;

use ctp_nostd::layout::LaneRecord;

/// What the kernel finds and clears at a time.
pub(super) const RECORDS_OF_A_PAGE: u64 = (4096 / size_of::<LaneRecord>()) as u64;

/// Places that are laid between two looks: at 2 us a page, a millisecond.
pub(crate) const MOST_LAID: u64 = 512 * RECORDS_OF_A_PAGE;

/// Who comes so far between two looks, which mostly are a millisecond apart, would meet those who lay.
const TOO_QUICK: u64 = MOST_LAID / 2;

/// Threads that may come between two looks and find a page.
pub(super) const LANES_AHEAD: u32 = 16;

/// Places whose pages are to be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'m> {
    pub places: &'m [LaneRecord],
    /// They are the first ones of a lane that nobody has had.
    pub is_new: bool,
}

/// Of a lane that a thread has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Groundwork {
    head: u64,
    laid: u64,
}

/// A thread comes so much further until the next look, at most, as it has come since the last one.
const TIMES: u64 = 3;

impl Groundwork {
    /// The head is there now, and no more than `most` records are to be laid: which?
    pub fn next(&mut self, head: u64, capacity: u64, most: u64) -> Range<u64> {
        let came = head.saturating_sub(self.head);
        self.head = head;
        let ahead = match came < TOO_QUICK {
            true => came * TIMES,
            false => 0,
        };
        let reach = head.saturating_add(ahead);
        let begin = self.laid.max(head);
        let end = reach.min(capacity).min(begin.saturating_add(most));
        let range = begin..end.max(begin);
        self.laid = range.end;
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 60_000;

    // LT-02
    #[test]
    fn each_place_of_the_first_lap_is_laid_once_and_before_the_thread_comes() {
        let mut work = Groundwork::default();
        assert_eq!(work.next(100, CAPACITY, 1_000), 100..400);
        assert_eq!(work.next(300, CAPACITY, 1_000), 400..900);
        assert!(work.next(300, CAPACITY, 1_000).is_empty(), "it is idle");
        assert!(
            work.next(310, CAPACITY, 1_000).is_empty(),
            "there is enough"
        );
        assert_eq!(
            work.next(9_000, CAPACITY, 300),
            9_000..9_300,
            "no more is wanted"
        );
        let (most, quick) = (u64::MAX, 9_000 + TOO_QUICK);
        assert!(
            work.next(quick, CAPACITY, most).is_empty(),
            "it is too quick"
        );
        assert_eq!(
            work.next(quick + 100, CAPACITY, most),
            quick + 100..quick + 400
        );
        assert_eq!(
            work.next(CAPACITY - 9, CAPACITY, most),
            CAPACITY - 9..CAPACITY
        );
        let next_lap = CAPACITY + 9;
        assert!(work.next(next_lap, CAPACITY, most).is_empty());
    }
}
