//! Whether a coroutine was woken since it last began to run. Readers of these words use
//! `ctp_trace::verdict::wakes_since`, and the models of this protocol use the same function.
//!
//! The wake word of a station holds {use of the station 12 bits | count 20 bits}.
//!
//! ```text
//!   owner                                  the waking thread
//!   B1 run: seen = the word    (acquire)   N1 count += 1 while the generation matches (release)
//!   B2 ... poll ...                        N2 source and time of the wake
//!   B3 suspend carries its count           N3 the real wake: queue it
//! ```
//! A coroutine with a suspend that carries the current count was not woken since its last run
//! began. N1 precedes N3, so B1 has counted a wake that made the coroutine run, and has not counted
//! a wake that comes during B2. Counting after the real wake (N3, N1) would report a woken
//! coroutine as not woken.
//!
//! One case is not detected. Two threads A and B wake at the same time: A's N1, then B's N1 and N3,
//! a whole run that ends in a suspend, and only then A's N3. The coroutine is queued, and A's wake
//! was counted before that run. So the coroutine looks not woken until it runs, for as long as the
//! queue is not processed. A runtime that counts and queues under one lock has no such case.
//!
//! A wake that comes during B2 must be followed by a run. A runtime may use up the wake without a
//! run: an `unpark` of a running coroutine leaves a permit, and the next `park` takes the permit
//! and goes on. There the runtime must record B1 again, which is a run. Otherwise the coroutine
//! looks woken and not run from its next suspend on. Nothing is certain about such a wake, unless
//! the coroutine is a future: an executor that polls a future must not use up a wake.
//!
//! A waker may outlive its coroutine, and the station then has another coroutine. Such a wake is
//! not counted: the waker knows the whole generation for which it was made, and the word
//! distinguishes that use from the uses that come while the waker reads it. The source and time
//! (N2) may still be written late, after those of the next coroutine.

use crate::sync::{AtomicU32, Ordering};

const COUNT_BITS: u32 = 20;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;

/// A wake word of this generation with no wakes.
pub const fn word(generation: u32) -> u32 {
    (generation / 2) << COUNT_BITS
}

/// Wakes so far, modulo 2^20.
pub const fn count(word: u32) -> u32 {
    word & COUNT_MASK
}

/// Owner, when a run begins: reads the word, with the wakes that led to this run.
#[inline]
pub fn seen(wake: &AtomicU32) -> u32 {
    wake.load(Ordering::Acquire) // B1, pairs with N1
}

/// Waking thread, before the real wake: counts a wake and returns the new count. `None` if the
/// station has another coroutine.
#[inline]
pub fn advance(wake: &AtomicU32, generation: u32) -> Option<u32> {
    let mut now = wake.load(Ordering::Relaxed);
    while now & !COUNT_MASK == word(generation) {
        let next = word(generation) | (now.wrapping_add(1) & COUNT_MASK);
        match wake.compare_exchange_weak(now, next, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return Some(count(next)), // N1, pairs with B1
            Err(other) => now = other,
        }
    }
    None
}

/// The part of the word seen by the run that a suspend carries: the wakes, modulo 2^16.
pub const fn carried(seen: u32) -> u16 {
    (count(seen) & 0xFFFF) as u16 // B3
}
