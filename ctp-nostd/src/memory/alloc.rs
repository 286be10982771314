//! Handing out stations: nobody gets one that another has.
//!
//! A new coroutine takes a station that an earlier one has left, else one that nobody had yet.
//! Those left lie in a ring, in the order in which they were put there:
//!
//! ```text
//!   probe, any number                        recorder
//!   A1 head -> taken           (relaxed)     F1 the last event of its occupant has been read
//!   A2 tail -> put             (acquire)     F2 ring[tail mod length] = station      (relaxed)
//!      none left if taken = put              F3 tail += 1        (release, pairs with A2)
//!   A3 ring[taken mod length] -> station     (relaxed)
//!   A4 head: taken -> taken + 1, else A1     (compare and swap)
//! ```
//! A station is in the ring at most once and the ring is as long as there are stations, so F2
//! overwrites an entry only when some A4 has gone past it, and then an A4 that read it fails. Head
//! and tail only grow: a head that is the same has not moved, unless it went round 2^32.

use crate::sync::{AtomicU32, Ordering};

/// Probe: a station that nobody had yet, or nothing when all are taken; a refusal is counted.
///
/// Never an unconditional add: a counter that runs past the maximum comes round to 0 after 2^32
/// coroutines and hands out what is in use.
pub fn claim(count: &AtomicU32, max: u32, refused: &AtomicU32) -> Option<u32> {
    let mut now = count.load(Ordering::Relaxed);
    while now < max {
        match count.compare_exchange_weak(now, now + 1, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some(now),
            Err(other) => now = other,
        }
    }
    refused.fetch_add(1, Ordering::Relaxed);
    None
}

/// Probe: a station that was put back, if there is one.
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

/// Recorder: puts back a station whose occupant is over and whose last event has been read.
pub fn put_back(tail: &AtomicU32, ring: &[AtomicU32], station: u32) {
    let put = tail.load(Ordering::Relaxed);
    let length = ring.len() as u32;
    if let Some(entry) = ring.get(put.checked_rem(length).unwrap_or(0) as usize) {
        entry.store(station, Ordering::Relaxed); // F2
        tail.store(put.wrapping_add(1), Ordering::Release); // F3, pairs with A2
    }
}

/// Recorder: a peer that adds without looking has driven the count past the maximum. Takes it
/// back and counts as refused what was asked for in vain.
pub fn rein_in(count: &AtomicU32, max: u32, refused: &AtomicU32) {
    if count.load(Ordering::Relaxed) > max {
        let asked = count.swap(max, Ordering::AcqRel);
        refused.fetch_add(asked.saturating_sub(max), Ordering::Relaxed);
    }
}
