//! What was read of the program and is not on disk yet: how much of it there is, and may be.
//!
//! Two stages hold it: copies of lane records that wait to be put in order, and chunks that wait to
//! be written. The thread that reads the program never waits for either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Its account. Clones share it.
#[derive(Clone, Debug)]
pub struct Backlog(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit_bytes: u64,
    copies_bytes: AtomicU64,
    chunks_bytes: AtomicU64,
    most_bytes: AtomicU64,
    was_full: AtomicBool,
}

/// Enough chunks for the encoder to go on with.
const ENOUGH_BYTES: u64 = 4 << 20;

impl Default for Backlog {
    /// Without a limit.
    fn default() -> Self {
        Backlog::of(u64::MAX)
    }
}

impl Backlog {
    /// Of so many bytes.
    pub fn of(limit_bytes: u64) -> Self {
        Backlog(Arc::new(Account {
            limit_bytes,
            copies_bytes: AtomicU64::new(0),
            chunks_bytes: AtomicU64::new(0),
            most_bytes: AtomicU64::new(0),
            was_full: AtomicBool::new(false),
        }))
    }

    /// Bytes that it may hold.
    pub fn limit_bytes(&self) -> u64 {
        self.0.limit_bytes
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> u64 {
        let Account {
            copies_bytes,
            chunks_bytes,
            ..
        } = &*self.0;
        copies_bytes.load(Ordering::Relaxed) + chunks_bytes.load(Ordering::Relaxed)
    }

    /// The most that it ever held.
    pub fn most_bytes(&self) -> u64 {
        self.0.most_bytes.load(Ordering::Relaxed)
    }

    /// Was something ever left where it was for want of room here?
    pub fn was_full(&self) -> bool {
        self.0.was_full.load(Ordering::Relaxed)
    }

    /// Is there so much that it should be written with less effort?
    pub fn is_half_full(&self) -> bool {
        self.0.limit_bytes / 2 < self.bytes()
    }

    /// Are there so many chunks that one who may wait should?
    pub(crate) fn has_enough_chunks(&self) -> bool {
        self.has_chunks_of(ENOUGH_BYTES.min(self.0.limit_bytes / 4))
    }

    /// So many that no more should be made?
    pub(crate) fn has_too_many_chunks(&self) -> bool {
        self.has_chunks_of(self.0.limit_bytes / 2)
    }

    /// Never where there is none: nothing would come of a wait for the next one to be written.
    fn has_chunks_of(&self, bytes: u64) -> bool {
        bytes.max(1) <= self.0.chunks_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that may be added.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.0.limit_bytes.saturating_sub(self.bytes())
    }

    pub(crate) fn note_full(&self) {
        self.0.was_full.store(true, Ordering::Relaxed);
    }

    pub(crate) fn copies_added(&self, bytes: u64) {
        self.0.copies_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.note_most();
    }

    pub(crate) fn copies_taken(&self, bytes: u64) {
        self.0.copies_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn chunk_added(&self, bytes: u64) {
        self.0.chunks_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.note_most();
    }

    pub(crate) fn chunk_written(&self, bytes: u64) {
        self.0.chunks_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn note_most(&self) {
        self.0.most_bytes.fetch_max(self.bytes(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-11
    #[test]
    fn however_small_it_is_nobody_waits_while_it_is_empty() {
        for limit_bytes in [0, 1, 3, 1 << 10] {
            let backlog = Backlog::of(limit_bytes);
            assert!(!backlog.has_enough_chunks() && !backlog.has_too_many_chunks());
            backlog.chunk_added(1 << 10);
            assert!(backlog.has_enough_chunks() && backlog.has_too_many_chunks());
            backlog.chunk_written(1 << 10);
            assert!(!backlog.has_enough_chunks() && !backlog.has_too_many_chunks());
        }
    }
}
