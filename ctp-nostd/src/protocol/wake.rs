//! Was this coroutine woken since it last began to run? Who reads these words asks
//! `ctp_trace::verdict::wakes_since`, by which the models of this protocol judge too.
//!
//! The wake word of a station holds {use of the station 12 bits | count 20 bits}.
//!
//! ```text
//!   owner                                  whoever wakes
//!   B1 run: seen = the word    (acquire)   N1 count += 1 while the generation matches (release)
//!   B2 ... poll ...                        N2 who, when
//!   B3 suspend carries its count           N3 the real wake: queue it
//! ```
//! A coroutine whose suspend carries the present count was not woken since its last run began:
//! N1 precedes N3, so a wake that made it run is in B1's count, and one that comes during B2 is
//! not. Counting after the real wake (N3, N1) would call a woken coroutine not woken.
//!
//! One case escapes it. Two wake at once, A and B: A's N1, then B's N1 and N3, a whole run that
//! ends in a suspend, and only then A's N3. The coroutine is queued, and A's wake was counted
//! before that run. It looks not woken until it runs, that is, for as long as the queue is not
//! served. A runtime that counts and queues under one lock has no such case.
//!
//! A wake that comes during B2 is owed a run. A runtime may use it up without one: an `unpark`
//! that finds its coroutine running leaves a permit, and the next `park` takes that and goes on.
//! There it has to tell B1 again, which is a run; else the coroutine looks woken and not run from
//! its next suspend on. Nothing is certain of such a wake, unless the coroutine is a future: who
//! polls one may not use up a wake.
//!
//! A waker may outlive its coroutine, whose station then has another occupant. Its wake is not
//! counted: it knows the whole generation it was made for, and the word tells a use from those
//! that come while it looks. What it says of who and when (N2) may still come late, after the
//! next occupant's own.

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

/// Owner, when a run begins: the word, with the wakes that led to it.
#[inline]
pub fn seen(wake: &AtomicU32) -> u32 {
    wake.load(Ordering::Acquire) // B1, pairs with N1
}

/// Whoever wakes, before the real wake: counts one, and gives the new count. Nothing if the station
/// has another occupant.
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

/// What a suspend carries of the word that its run has seen: the wakes, modulo 2^16.
pub const fn carried(seen: u32) -> u16 {
    (count(seen) & 0xFFFF) as u16 // B3
}
