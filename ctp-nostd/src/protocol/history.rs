//! History of a program without threads: a ring of records in static memory, in which new records replace
//! the oldest. Tasks and interrupt handlers of a single core write into the ring.
//!
//! ```text
//!   a task or a handler                                  reader of halted memory
//!   H1 h = head; head = h + 1          (one step)        head
//!   H2 marked? lost += 1, else mark                      records head - length .. head:
//!   H3 time, site, arg                                     whole if not marked, and of the
//!   H4 commit = lap of h, kind, owner                      lap of h
//! ```
//! The mark is an upper half of 2^32 - 1 in the commit word, as in the words of `sync/split.rs`. So a record
//! is torn if it is marked, and only then:
//!
//! - A handler that comes between H2 and H4, and fills the whole ring, finds the mark and counts its record
//!   as lost. No record has the payload of another.
//! - A handler that fills the whole ring between the two parts of H2 leaves a whole record there, which is
//!   then replaced by an older record. A reader finds the lap of the older record, and counts both as lost.
//!
//! Two cores could be between H2 and H4 of the same record. Therefore a ring is for a single core.

use core::sync::atomic::compiler_fence;

use crate::memory::layout::{LaneRecord, RingWords};
use crate::protocol::lane::Payload;
use crate::sync::{Ordering, begin_change, end_change, is_changing};

/// Laps are counted modulo this number, from 1.
pub const LAPS: u32 = (1 << 15) - 1;
/// Position of the lap in a commit word.
const LAP_SHIFT: u32 = Payload::COMMIT_BITS;

/// The lap of record `h` in a ring of this length, as in its commit word.
pub const fn lap(h: u32, length: u32) -> u64 {
    let laps = h >> length.trailing_zeros();
    let lap = if laps < LAPS {
        laps + 1
    } else {
        laps % LAPS + 1
    };
    (lap as u64) << LAP_SHIFT
}

/// Whether the commit word of record `h` says that the record is whole.
pub const fn is_whole(commit: u64, h: u32, length: u32) -> bool {
    commit >> LAP_SHIFT << LAP_SHIFT == lap(h, length)
}

/// The commit word with another lap.
pub const fn with_lap(commit: u64, lap: u64) -> u64 {
    commit & ((1 << LAP_SHIFT) - 1) | lap
}

impl RingWords {
    /// Writes the next record, for this [owner](Payload::owner_bits).
    pub(crate) fn record(self, owner_bits: u64, at_ns: u64, payload: Payload) {
        let length = self.records.len() as u32;
        let h = self.head.head.fetch_add(1, Ordering::Relaxed); // H1
        let Some(record) = self.records.get(h as usize & (self.records.len() - 1)) else {
            return; // no records
        };
        if is_changing(&record.commit) {
            self.head.lost.fetch_add(1, Ordering::Relaxed); // H2
            return;
        }
        begin_change(&record.commit); // H2
        compiler_fence(Ordering::SeqCst);
        fill(record, at_ns, payload); // H3
        compiler_fence(Ordering::SeqCst);
        let commit = payload.to_commit_for(owner_bits);
        end_change(&record.commit, commit | lap(h, length)); // H4
    }
}

fn fill(record: &LaneRecord, at_ns: u64, payload: Payload) {
    record.at.store(at_ns, Ordering::Relaxed);
    record.site.store(payload.to_site(), Ordering::Relaxed);
    record.arg.store(payload.arg, Ordering::Relaxed);
}
