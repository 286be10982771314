//! Counts the data that were read from the program and are not on disk yet, and states the limit of their size.
//!
//! The backlog has two stages: copies of lane records that wait to be merged, and chunks that wait to be
//! written. The thread that reads the program never waits for either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The counts of a backlog. Clones share them.
#[derive(Clone, Debug)]
pub struct Backlog(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    limit_bytes: u64,
    copies_bytes: AtomicU64,
    chunks_bytes: AtomicU64,
    most_bytes: AtomicU64,
    was_full: AtomicBool,
}

/// Bytes of chunks that are enough to keep the encoder busy.
const ENOUGH_BYTES: u64 = 4 << 20;

impl Default for Backlog {
    /// A backlog without a limit.
    fn default() -> Self {
        Backlog::of(u64::MAX)
    }
}

impl Backlog {
    /// A backlog limited to this many bytes.
    pub fn of(limit_bytes: u64) -> Self {
        Backlog(Arc::new(Counts {
            limit_bytes,
            copies_bytes: AtomicU64::new(0),
            chunks_bytes: AtomicU64::new(0),
            most_bytes: AtomicU64::new(0),
            was_full: AtomicBool::new(false),
        }))
    }

    /// Bytes that the backlog may hold.
    pub fn limit_bytes(&self) -> u64 {
        self.0.limit_bytes
    }

    /// Bytes that the backlog holds.
    pub fn bytes(&self) -> u64 {
        let Counts {
            copies_bytes,
            chunks_bytes,
            ..
        } = &*self.0;
        copies_bytes.load(Ordering::Relaxed) + chunks_bytes.load(Ordering::Relaxed)
    }

    /// The most bytes that the backlog ever held.
    pub fn most_bytes(&self) -> u64 {
        self.0.most_bytes.load(Ordering::Relaxed)
    }

    /// Whether records ever stayed in lanes for lack of room here.
    pub fn was_full(&self) -> bool {
        self.0.was_full.load(Ordering::Relaxed)
    }

    /// Whether there is so much data that chunks should be written with less compression.
    pub fn is_half_full(&self) -> bool {
        self.0.limit_bytes / 2 < self.bytes()
    }

    /// Whether there are so many chunks that a caller that may wait should wait.
    pub(crate) fn has_enough_chunks(&self) -> bool {
        self.has_chunks_of(ENOUGH_BYTES.min(self.0.limit_bytes / 4))
    }

    /// Whether there are so many chunks that no more should be made.
    pub(crate) fn has_too_many_chunks(&self) -> bool {
        self.has_chunks_of(self.0.limit_bytes / 2)
    }

    /// Whether there are chunks of at least this many bytes. Always false without chunks: then waiting for a
    /// chunk to be written would not end.
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
    fn nothing_waits_while_a_tiny_backlog_is_empty() {
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
