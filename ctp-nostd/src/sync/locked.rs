//! `AtomicU32` for targets without compare-and-swap, such as thumbv6m and riscv32imc.
//!
//! Loads and stores are instructions of the processor. All other operations are a load and a store
//! in a critical section of the crate `critical-section`, for which the program provides the
//! implementation. On a single core, no interrupt handler comes between the two. A store on another
//! core may: as everywhere in the probe, a word that several cores change has no plain stores while
//! they do.

use core::sync::atomic::{AtomicU32 as Word, Ordering};

/// A word of 32 bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicU32(Word);

impl AtomicU32 {
    /// A word with this value.
    pub const fn new(value: u32) -> Self {
        AtomicU32(Word::new(value))
    }

    /// Reads the word.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    /// Writes the word.
    #[inline(always)]
    pub fn store(&self, value: u32, order: Ordering) {
        self.0.store(value, order);
    }

    /// Replaces the value if it is `current`. Returns the value before, as `Err` if it differs.
    #[inline]
    pub fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        _: Ordering,
        _: Ordering,
    ) -> Result<u32, u32> {
        critical_section::with(|_| {
            let before = self.0.load(Ordering::Acquire);
            if before != current {
                return Err(before);
            }
            self.0.store(new, Ordering::Release);
            Ok(before)
        })
    }

    /// As [`compare_exchange`](AtomicU32::compare_exchange).
    #[inline]
    pub fn compare_exchange_weak(
        &self,
        current: u32,
        new: u32,
        done: Ordering,
        not: Ordering,
    ) -> Result<u32, u32> {
        self.compare_exchange(current, new, done, not)
    }

    /// Adds to the word, modulo 2^32. Returns the value before.
    #[inline]
    pub fn fetch_add(&self, more: u32, _: Ordering) -> u32 {
        self.change(|value| value.wrapping_add(more))
    }

    /// Replaces the value, and returns the value before.
    #[inline]
    pub fn swap(&self, value: u32, _: Ordering) -> u32 {
        self.change(|_| value)
    }

    /// Sets bits, and returns the value before.
    #[inline]
    pub fn fetch_or(&self, bits: u32, _: Ordering) -> u32 {
        self.change(|value| value | bits)
    }

    /// Clears all other bits, and returns the value before.
    #[inline]
    pub fn fetch_and(&self, bits: u32, _: Ordering) -> u32 {
        self.change(|value| value & bits)
    }

    fn change(&self, to: impl FnOnce(u32) -> u32) -> u32 {
        critical_section::with(|_| {
            let before = self.0.load(Ordering::Acquire);
            self.0.store(to(before), Ordering::Release);
            before
        })
    }
}
