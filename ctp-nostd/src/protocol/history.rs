//! History of a program without threads: a ring of records in static memory, in which new records replace
//! the oldest. Tasks and interrupt handlers of a single core write into the ring.
//!
//! ```text
//!   a task or a handler
//!   H1 h = head; head = h + 1            (one step)
//!   H2 marked? then lost += 1, and end
//!   H3 mark
//!   H4 time, site, arg
//!   H5 commit = lap of h, kind, owner
//! ```
//! A reader of halted memory reads the head, and then the records from `head - length` to `head`. Record h is
//! whole if it is not marked, and has the lap of h.
//!
//! The mark is an upper half of 2^32 - 1 in the commit word, as in the words of `sync/split.rs`. So a record
//! is torn if it is marked, and only then:
//!
//! - A handler that comes between H3 and H5, and fills the whole ring, finds the mark and counts its record
//!   as lost. No record has the payload of another.
//! - A handler that comes between H2 and H3, and fills the whole ring, leaves a whole record in this place.
//!   H3 to H5 of the interrupted, older record then overwrite it. A reader finds the lap of the older record,
//!   and counts both as lost.
//!
//! Two cores could be between H3 and H5 of the same record. Therefore a ring is for a single core.

use core::sync::atomic::compiler_fence;

use crate::memory::layout::{LaneRecord, RingWords};
use crate::protocol::lane::Payload;
use crate::sync::{Ordering, begin_change, end_change, is_changing};

/// Laps are counted modulo this number, from 1. In the rings that a program can have, consecutive laps
/// differ also where `h` wraps.
pub const LAPS: u32 = (1 << 15) - 1;

const _: () = {
    let mut length = MIN_RECORDS as u32;
    while length <= MAX_RECORDS as u32 {
        assert!(lap(u32::MAX, length) != lap(0, length));
        length *= 2;
    }
};

/// The fewest records of a ring.
pub(crate) const MIN_RECORDS: usize = 8;
/// The most records of a ring.
pub(crate) const MAX_RECORDS: usize = 1 << 16;

/// Position of the lap in a commit word.
const LAP_SHIFT: u32 = Payload::COMMIT_BITS;
/// The bits of the lap in a commit word.
const LAP_MASK: u64 = u64::MAX << LAP_SHIFT;

/// The lap of record `h` in a ring of this length, a power of two, as in its commit word.
pub const fn lap(h: u32, length: u32) -> u64 {
    let laps = h >> length.trailing_zeros();
    // Both branches give the same value. The first needs no division, which some cores do not have.
    let lap = if laps < LAPS {
        laps + 1
    } else {
        laps % LAPS + 1
    };
    (lap as u64) << LAP_SHIFT
}

/// Whether the commit word of record `h` says that the record is whole.
pub const fn is_whole(commit: u64, h: u32, length: u32) -> bool {
    commit & LAP_MASK == lap(h, length)
}

/// The commit word with another lap.
pub const fn with_lap(commit: u64, lap: u64) -> u64 {
    commit & !LAP_MASK | lap
}

impl RingWords {
    /// Writes the next record, for this [owner](Payload::owner_bits).
    pub(crate) fn push(self, owner_bits: u64, at_ns: u64, payload: Payload) {
        let length = self.records.len() as u32;
        let h = self.head.head.fetch_add(1, Ordering::Relaxed); // H1
        // Never `None`: the length is a power of two. `get` avoids the code of a panic.
        let Some(record) = self.records.get(h as usize & (self.records.len() - 1)) else {
            return;
        };
        if is_changing(&record.commit) {
            self.head.lost.fetch_add(1, Ordering::Relaxed); // H2
            return;
        }
        begin_change(&record.commit); // H3
        compiler_fence(Ordering::SeqCst);
        store_payload(record, at_ns, payload); // H4
        compiler_fence(Ordering::SeqCst);
        let commit = payload.to_commit_for(owner_bits);
        end_change(&record.commit, commit | lap(h, length)); // H5
    }
}

fn store_payload(record: &LaneRecord, at_ns: u64, payload: Payload) {
    record.at.store(at_ns, Ordering::Relaxed);
    record.site.store(payload.to_site(), Ordering::Relaxed);
    record.arg.store(payload.arg, Ordering::Relaxed);
}
