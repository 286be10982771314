//! The doorbell: a probe wakes the recorder if the recorder sleeps.
//!
//! ```text
//!   probe                                  recorder
//!   P1 event                               Q1 sleeping = 1        (relaxed)
//!   P2 fence          (seq-cst)            Q2 fence               (seq-cst)
//!   P3 sleeping?      (relaxed)            Q3 last scan           (nothing new: block)
//!   P4 swap 1 -> 0, then ring              Q4 woken: sleeping = 0
//! ```
//! Either P3 sees Q1, or Q3 sees P1. Without a fence on either side both may miss, and the event
//! waits for the recorder's safety tick.
//!
//! P2 costs more than the event. P2 shrinks to a compiler fence ([`must_ring_ordered`]) where the
//! recorder orders both sides by itself: Q2 is then followed by `membarrier` (global expedited),
//! which runs a full fence on every processor that runs a registered process. Either such a fence
//! comes before P1, and P3 sees Q1, or after P1, and Q3 sees P1.
//!
//! Where lanes hold all events, the recorder need not read each event at once. It then sleeps for a
//! short time, and only a shortage ends the sleep earlier:
//! ```text
//!   B1 sleeping = 2 (relaxed), then block until the deadline or a ring
//!   B2 probe: an eighth of its lane is full, few stations are left, or threads took lanes?
//!   B3 sleeping?  (relaxed)     swap 2 -> 0, then ring
//! ```
//! No fence orders B1 and B3. A thread that misses B1 asks again after another eighth of its lane, and
//! the deadline ends the sleep in any case. A probe that does not know the value 2 does not ring.

use core::sync::atomic::compiler_fence;

use crate::sync::{AtomicU32, Ordering, fence};

/// The recorder does not sleep.
const AWAKE: u32 = 0;
/// The recorder sleeps until the next event.
const UNTIL_EVENT: u32 = 1;
/// The recorder sleeps until a deadline, or until there is a shortage.
const UNTIL_SHORTAGE: u32 = 2;

/// Recorder: announces that it is about to sleep. The recorder must scan once more before it
/// blocks.
pub fn arm(sleeping: &AtomicU32) {
    sleeping.store(UNTIL_EVENT, Ordering::Relaxed); // Q1
    fence(Ordering::SeqCst); // Q2, pairs with P2
}

/// Recorder: announces that it sleeps until a deadline, or until there is a shortage.
pub fn arm_for_shortage(sleeping: &AtomicU32) {
    sleeping.store(UNTIL_SHORTAGE, Ordering::Relaxed); // B1
}

/// Recorder: ends the sleep. True if no probe rang, so that a timer ended the sleep.
pub fn disarm(sleeping: &AtomicU32) -> bool {
    sleeping.swap(AWAKE, Ordering::Relaxed) != AWAKE // Q4
}

/// Probe: after an event, must this caller ring? True for only one caller per sleep.
#[inline]
pub fn must_ring(sleeping: &AtomicU32) -> bool {
    fence(Ordering::SeqCst); // P2, pairs with Q2
    sleeping.load(Ordering::Relaxed) == UNTIL_EVENT && take(sleeping, UNTIL_EVENT) // P3, P4
}

/// Like [`must_ring`], but the recorder supplies the fence. The process must be registered for
/// `membarrier`, and the recorder must have declared that it issues a `membarrier` before each
/// sleep.
#[inline]
pub fn must_ring_ordered(sleeping: &AtomicU32) -> bool {
    compiler_fence(Ordering::SeqCst); // P2 as far as the compiler goes
    sleeping.load(Ordering::Relaxed) == UNTIL_EVENT && take(sleeping, UNTIL_EVENT) // P3, P4
}

/// Probe: at a possible shortage, must this caller ring? True for only one caller per sleep.
#[inline]
pub fn must_ring_for_shortage(sleeping: &AtomicU32, is_short: impl FnOnce() -> bool) -> bool {
    let is_requested = sleeping.load(Ordering::Relaxed) == UNTIL_SHORTAGE; // B3
    is_requested && is_short() && take(sleeping, UNTIL_SHORTAGE)
}

#[cold]
fn take(sleeping: &AtomicU32, until: u32) -> bool {
    sleeping
        .compare_exchange(until, AWAKE, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
}
