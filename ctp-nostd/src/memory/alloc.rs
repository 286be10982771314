//! Hands out stations, so that no two coroutines have the same station.
//!
//! A new coroutine takes a station that an earlier coroutine has left, or else a station that was
//! never used. Stations that were left lie in a ring, in the order in which the recorder put them
//! there:
//!
//! ```text
//!   probe, in any number of threads          recorder
//!   A1 head -> taken           (relaxed)     F1 the last event of its coroutine has been read
//!   A2 tail -> put             (acquire)     F2 ring[tail mod length] = station      (relaxed)
//!      none left if taken = put              F3 tail += 1        (release, pairs with A2)
//!   A3 ring[taken mod length] -> station     (relaxed)
//!   A4 head: taken -> taken + 1, else A1     (compare and swap)
//! ```
//! A station is in the ring at most once, and the ring has at least as many entries as there are
//! stations. So F2 overwrites an entry only after some A4 has gone past it, and then an A4 that
//! read the old entry fails. Head and tail only grow: an unchanged head has not moved, unless it
//! wrapped around 2^32.

use crate::sync::{AtomicU32, Ordering};

/// Probe: claims a station that was never used. Returns `None`, and counts a refusal, if all are
/// taken.
pub fn claim(count: &AtomicU32, max: u32, refused: &AtomicU32) -> Option<u32> {
    let claimed = claim_unused(count, max);
    if claimed.is_none() {
        refused.fetch_add(1, Ordering::Relaxed);
    }
    claimed
}

/// Probe: like [`claim`], without a count of refusals.
///
/// This must not be an unconditional add: a counter that runs past the maximum wraps to 0 after
/// 2^32 coroutines and hands out stations that are in use.
#[inline]
pub fn claim_unused(count: &AtomicU32, max: u32) -> Option<u32> {
    let mut now = count.load(Ordering::Relaxed);
    while now < max {
        match count.compare_exchange_weak(now, now + 1, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some(now),
            Err(other) => now = other,
        }
    }
    None
}

/// Probe: takes a station from the ring, if the ring is not empty.
pub fn take_back(head: &AtomicU32, tail: &AtomicU32, ring: &[AtomicU32]) -> Option<u32> {
    let length = ring.len() as u32;
    let mut taken = head.load(Ordering::Relaxed); // A1
    loop {
        let left = tail.load(Ordering::Acquire).wrapping_sub(taken); // A2
        if left == 0 || left > length {
            return None;
        }
        let station = ring[(taken % length) as usize].load(Ordering::Relaxed); // A3
        let next = taken.wrapping_add(1);
        match head.compare_exchange_weak(taken, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(station), // A4
            Err(other) => taken = other,
        }
    }
}

/// Recorder: puts back a station after its coroutine has ended and its last event has been read.
pub fn put_back(tail: &AtomicU32, ring: &[AtomicU32], station: u32) {
    let put = tail.load(Ordering::Relaxed);
    let length = ring.len() as u32;
    if let Some(entry) = ring.get(put.checked_rem(length).unwrap_or(0) as usize) {
        entry.store(station, Ordering::Relaxed); // F2
        tail.store(put.wrapping_add(1), Ordering::Release); // F3, pairs with A2
    }
}

/// Recorder: resets a count that is past the maximum, as happens with v1 peers, which add without a
/// bound. The excess is counted as refused.
pub fn limit_claims(count: &AtomicU32, max: u32, refused: &AtomicU32) {
    if count.load(Ordering::Relaxed) > max {
        let claimed = count.swap(max, Ordering::AcqRel);
        refused.fetch_add(claimed.saturating_sub(max), Ordering::Relaxed);
    }
}
