//! Counts the live wakers of a coroutine. With a count of zero, the coroutine can never be woken.
//!
//! Clones of a waker count as one, from the first to the last of them. The last clone may still be
//! counted after it has woken the coroutine, until a poll that took no clone has ended
//! (`holders.rs`).
//!
//! The word holds {use of the station 12 bits | wakers 20 bits}, like the word of [`crate::wake`].
//!
//! ```text
//!   the waking thread                      recorder
//!   L1 count the wake  (N1 of `wake.rs`)   J1 wakers                  (acquire)
//!   L2 the real wake: queue it             J2 wakes                   (acquire)
//!   L3 wakers -= 1           (release)
//! ```
//! If J1 finds no waker, J2 finds the wake of the last waker. A poll clones its waker before the
//! suspend that ends the poll, so a suspended coroutine's count is never behind. A waker that
//! outlives its coroutine leaves the next coroutine's count alone.

use crate::protocol::wake;
use crate::sync::{AtomicU32, Ordering};

/// The count saturates here, and then never changes again.
const MAX_COUNT: u32 = (1 << 20) - 1;

/// Adds a waker of the coroutine of this generation.
#[inline]
pub fn add(word: &AtomicU32, generation: u32) {
    change(word, generation, |count| match count {
        MAX_COUNT => MAX_COUNT,
        some => some + 1,
    });
}

/// Removes a waker, after all that the waker did.
#[inline]
pub fn subtract(word: &AtomicU32, generation: u32) {
    change(word, generation, |count| match count {
        0 | MAX_COUNT => count,
        some => some - 1,
    });
}

#[inline]
fn change(word: &AtomicU32, generation: u32, step: impl Fn(u32) -> u32) {
    let base = wake::word(generation);
    let mut now = word.load(Ordering::Relaxed);
    while now & !MAX_COUNT == base {
        let next = base | step(now & MAX_COUNT);
        match word.compare_exchange_weak(now, next, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return, // L3, pairs with J1
            Err(other) => now = other,
        }
    }
}

/// Recorder: returns the count, if the word is that of this coroutine.
pub fn count(word: &AtomicU32, generation: u32) -> Option<u32> {
    let now = word.load(Ordering::Acquire); // J1, pairs with L3
    (now & !MAX_COUNT == wake::word(generation)).then_some(now & MAX_COUNT)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn stale_wakers_change_nothing_and_counts_saturate() {
        let word = AtomicU32::new(wake::word(2));
        subtract(&word, 2);
        assert_eq!(count(&word, 2), Some(0));
        add(&word, 2);
        add(&word, 4);
        assert_eq!((count(&word, 2), count(&word, 4)), (Some(1), None));
        word.store(wake::word(2) | (MAX_COUNT - 1), Ordering::Relaxed);
        add(&word, 2);
        add(&word, 2);
        subtract(&word, 2);
        assert_eq!(count(&word, 2), Some(MAX_COUNT));
    }
}
