//! Handing out stations: no index below the maximum is ever given twice.

use crate::sync::{AtomicU32, Ordering};

/// Probe: the next station, or nothing when all are taken; a refusal is counted.
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

/// Recorder: a peer that adds without looking has driven the count past the maximum. Takes it
/// back and counts as refused what was asked for in vain.
pub fn rein_in(count: &AtomicU32, max: u32, refused: &AtomicU32) {
    if count.load(Ordering::Relaxed) > max {
        let asked = count.swap(max, Ordering::AcqRel);
        refused.fetch_add(asked.saturating_sub(max), Ordering::Relaxed);
    }
}
