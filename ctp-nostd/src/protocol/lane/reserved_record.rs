//! A position in a lane, which its thread fills in and commits.

use core::ptr;

use super::prefetch;
use super::record::Payload;
use crate::memory::layout::LaneRecord;
use crate::sync::Ordering;

/// Distance from the record that is written to the record that is prefetched: about as many records
/// as are written while a cache line travels between processors.
const AHEAD: usize = 16;
/// Two records share a line, which is prefetched once.
const LINE_BYTES: usize = 64;

/// A record that its thread has reserved.
#[derive(Clone, Copy, Debug)]
pub struct ReservedRecord<'m> {
    pub(crate) record: &'m LaneRecord,
    /// The lap, as in a commit word.
    pub(crate) lap: u64,
}

impl ReservedRecord<'_> {
    /// The thread: fills in and commits the record.
    #[inline(always)]
    pub fn commit(&self, at: u64, payload: Payload) {
        self.commit_words(at, payload, payload.to_commit());
    }

    /// The thread: fills in the record for this [owner](Payload::owner_bits), and ignores the owner
    /// that the payload names.
    #[inline(always)]
    pub(crate) fn commit_for(&self, owner_bits: u64, at: u64, payload: Payload) {
        self.commit_words(at, payload, payload.to_commit_for(owner_bits));
    }

    #[inline(always)]
    fn commit_words(&self, at: u64, payload: Payload, commit: u64) {
        let ReservedRecord { record, lap } = *self;
        record.at.store(at, Ordering::Relaxed); // T5
        record.site.store(payload.to_site(), Ordering::Relaxed);
        record.arg.store(payload.arg, Ordering::Relaxed);
        record.commit.store(commit | lap, Ordering::Release); // T6, pairs with S2
        let ahead = ptr::from_ref(record).wrapping_add(AHEAD);
        if ahead.addr() % LINE_BYTES == 0 {
            prefetch::for_write(ahead);
        }
    }
}
