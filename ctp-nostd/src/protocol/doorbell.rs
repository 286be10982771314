//! The recorder sleeps, an event comes: who notices? Both halves of that handshake.
//!
//! ```text
//!   probe                                  recorder
//!   P1 event                               Q1 sleeping = 1        (relaxed)
//!   P2 fence          (seq-cst)            Q2 fence               (seq-cst)
//!   P3 sleeping?      (relaxed)            Q3 last scan           (nothing new: block)
//!   P4 swap 1 -> 0, then ring              Q4 woken: sleeping = 0
//! ```
//! Either P3 sees Q1, or Q3 sees P1: with a fence missing on either side both may miss, and the
//! event waits for the recorder's safety tick.
//!
//! P2 costs more than the event. It shrinks to a compiler fence ([`must_ring_ordered`]) where the
//! recorder orders both sides by itself: Q2 is then followed by `membarrier` (global expedited),
//! which runs a full fence on every processor that runs a registered process. Either such a
//! fence comes before P1, and P3 sees Q1, or after it, and Q3 sees P1.

use core::sync::atomic::compiler_fence;

use crate::sync::{AtomicU32, Ordering, fence};

/// Recorder: announces that it is about to sleep. It must scan once more before it blocks.
pub fn arm(sleeping: &AtomicU32) {
    sleeping.store(1, Ordering::Relaxed); // Q1
    fence(Ordering::SeqCst); // Q2, pairs with P2
}

/// Recorder: is awake again. True if nobody rang, that is, a timer ended the sleep.
pub fn disarm(sleeping: &AtomicU32) -> bool {
    sleeping.swap(0, Ordering::Relaxed) == 1 // Q4
}

/// Probe: after an event, says whether this caller has to ring. One caller for each sleep.
#[inline]
pub fn must_ring(sleeping: &AtomicU32) -> bool {
    fence(Ordering::SeqCst); // P2, pairs with Q2
    sleeping.load(Ordering::Relaxed) == 1 && take(sleeping) // P3, P4
}

/// Like [`must_ring`], in a process that is registered for `membarrier`, under a recorder that declared to
/// issue one before each sleep: the fence is the recorder's.
#[inline]
pub fn must_ring_ordered(sleeping: &AtomicU32) -> bool {
    compiler_fence(Ordering::SeqCst); // P2 as far as the compiler goes
    sleeping.load(Ordering::Relaxed) == 1 && take(sleeping) // P3, P4
}

#[cold]
fn take(sleeping: &AtomicU32) -> bool {
    sleeping
        .compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
}
