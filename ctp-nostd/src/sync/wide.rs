//! Words of 64 bits on targets that have atomics of that size: each is read and written atomically.
//! `split.rs` has the same types for all other targets.
#![allow(
    unsafe_code,
    reason = "a read-modify-write without a lock prefix, for which there is no intrinsic"
)]

use super::{CHANGING, Claim, Ordering};

#[cfg(not(loom))]
pub use core::sync::atomic::AtomicU64;
#[cfg(loom)]
pub use loom::sync::atomic::AtomicU64;

/// A word that only one thread and its signal handlers write, and that no other process reads.
pub(crate) type PrivateU64 = core::sync::atomic::AtomicU64;

/// Whether threads can have lanes. Lanes need a compare-and-swap of 64 bits.
pub(crate) const HAS_LANES: bool = true;

exchange!(
    exchange,
    AtomicU64,
    u64,
    "cmpxchg qword ptr [{word}], {new}",
    "rax",
    target_arch = "x86_64"
);

/// Sets `bits` in a `word` that only the calling thread and its signal handlers write.
#[inline(always)]
pub(crate) fn set(word: &PrivateU64, bits: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `exchange`: a valid word, which only this thread writes.
    unsafe {
        core::arch::asm!(
            "or qword ptr [{word}], {bits}",
            word = in(reg) word.as_ptr(),
            bits = in(reg) bits,
            options(nostack),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    word.fetch_or(bits, Ordering::Relaxed);
}

/// Changes a word from 0 to `value`. The result says what the word held.
#[inline(always)]
pub(crate) fn claim(word: &AtomicU64, value: u64) -> Claim {
    // Usually the value is there already. A plain load keeps its cache line shared.
    let outcome = match word.load(Ordering::Relaxed) {
        0 => word.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed),
        present => Err(present),
    };
    match outcome {
        Ok(_) => Claim::Claimed,
        Err(present) if present == value => Claim::Same,
        Err(_) => Claim::Other,
    }
}

/// Whether [`begin_change`] has marked this word.
#[inline(always)]
pub(crate) fn is_changing(word: &AtomicU64) -> bool {
    (word.load(Ordering::Relaxed) >> 32) as u32 == CHANGING
}

/// Marks a word whose record changes.
#[inline(always)]
pub(crate) fn begin_change(word: &AtomicU64) {
    word.store(u64::from(CHANGING) << 32, Ordering::Relaxed);
}

/// Stores the value of a word that is marked.
#[inline(always)]
pub(crate) fn end_change(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
}

/// The sequence number of a [seqlock](crate::slot): odd while its payload changes.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SequenceU64(AtomicU64);

impl SequenceU64 {
    /// Writer: stores the odd number, before the payload changes.
    #[inline(always)]
    pub fn begin(&self, odd: u64) {
        self.0.store(odd, Ordering::Relaxed);
    }

    /// Writer: stores the even number, after the payload has changed.
    #[inline(always)]
    pub fn store(&self, even: u64, order: Ordering) {
        self.0.store(even, order);
    }

    /// Reader: reads the number. The payload is whole if the number is even, and the same before
    /// and after.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }
}

/// A time or a count that no other word guards. It does not become smaller.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct StandaloneU64(AtomicU64);

impl StandaloneU64 {
    /// A word with this value.
    pub fn new(value: u64) -> Self {
        StandaloneU64(AtomicU64::new(value))
    }

    /// The only writer: writes the word.
    #[inline(always)]
    pub fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }

    /// One of several writers: writes the word. On targets with split words, this has no effect if
    /// another writer is writing a value, or has written a later value.
    #[inline(always)]
    pub fn store_shared(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The only writer, and interrupt handlers: replaces the value `old`. False, without effect, if
    /// a handler has changed the word.
    #[inline(always)]
    pub fn replace(&self, old: u64, new: u64) -> bool {
        exchange(&self.0, old, new)
    }

    /// Reads the word.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    /// The only writer, and handlers that interrupt the writer: reads the word. Always `Some` on these
    /// targets; with split words, `None` if the caller has interrupted a change.
    #[inline(always)]
    pub fn load_own(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed))
    }

    /// Reads the word. Always `Some` on these targets; with split words, `None` if a writer is in the middle
    /// of a change.
    #[inline(always)]
    pub fn load_whole(&self, order: Ordering) -> Option<u64> {
        Some(self.0.load(order))
    }
}
