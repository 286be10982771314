//! The two ways in which a v1 peer numbers its events. The published text and the published SDKs
//! disagree, and nothing in the memory says which of the two a program was built with.
//!
//! | | D1, the text | D2, the SDKs and this probe |
//! | --- | --- | --- |
//! | sequence | of the station, from 1 | of the slot, odd while it is written |
//! | slot of event n | (n + 1) mod 8 | n mod 8 |
//! | seq of event n | n + 1 | 2 (n div 8) + 2 |
//!
//! Numbers are compared by their distance. So a corrupt number, near 2^64 or far behind, blocks its
//! slot only until the writer writes that slot again.

use crate::memory::layout::{SLOTS, Station};
use crate::protocol::slot::{self, Epoch, SlotReading, event_of, final_seq, index_of};

/// How a peer numbers its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// D1: one sequence for the station.
    PerStation,
    /// D2: one sequence for each slot.
    PerSlot,
}

/// Detects how this station's writer numbers its events; `None` before the first event.
///
/// A live writer continues between the reads of two slots. D2's first event may be written after
/// slot 0 was read, and its second before slot 1 is read. That alone would look like D1. A second
/// read sees slot 0 written, so the answer is D1 only if both reads look like D1.
pub fn of(station: &Station) -> Option<Dialect> {
    match detect(&station.seqs())? {
        Dialect::PerStation => detect(&station.seqs()),
        Dialect::PerSlot => Some(Dialect::PerSlot),
    }
}

/// Detects the dialect from the sequence numbers of a station at rest; `None` while all are zero.
///
/// D1 holds if every nonzero number equals its slot's index modulo 8. D2's first event has 1 or 2
/// in slot 0, and later numbers stay too close to each other for this ever to hold.
pub fn detect(seqs: &[u64; SLOTS]) -> Option<Dialect> {
    let mut written = seqs
        .iter()
        .enumerate()
        .filter(|(_, seq)| **seq != 0)
        .peekable();
    written.peek()?;
    Some(
        if written.all(|(index, seq)| *seq % SLOTS as u64 == index as u64) {
            Dialect::PerStation
        } else {
            Dialect::PerSlot
        },
    )
}

/// The state of event `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The whole event.
    Whole(Epoch),
    /// The event has not been written yet.
    NotYet,
    /// The event is being written, or its writer died while writing.
    Torn,
    /// The event is overwritten. The value is the number of the oldest event that may still exist.
    Overwritten(u64),
}

/// How often one pass reads a slot that changes during the read.
const TRIES: usize = 4;

impl Dialect {
    /// Reads event `n` of a station.
    pub fn fetch(self, station: &Station, n: u64) -> Fetched {
        match self {
            Dialect::PerSlot => fetch_per_slot(station, n),
            Dialect::PerStation => fetch_per_station(station, n),
        }
    }
}

fn fetch_per_slot(station: &Station, n: u64) -> Fetched {
    for _ in 0..TRIES {
        match slot::read(station.slot_of(n)) {
            SlotReading::Changed => continue,
            SlotReading::Empty => return Fetched::NotYet,
            SlotReading::Whole(seq, epoch) if seq == final_seq(n) => return Fetched::Whole(epoch),
            SlotReading::Writing(seq) if seq.wrapping_add(1) == final_seq(n) => {
                return Fetched::Torn;
            }
            SlotReading::Whole(seq, _) => return older_or_newer(n, seq),
            SlotReading::Writing(seq) => return older_or_newer(n, seq.wrapping_add(1)),
        }
    }
    // The slot changes all the time, so this event is being overwritten.
    overwritten(n, n)
}

fn older_or_newer(n: u64, seq: u64) -> Fetched {
    if is_before(seq, final_seq(n)) {
        return Fetched::NotYet;
    }
    let newest_here = event_of(index_of(n), seq);
    overwritten(n, newest_here)
}

/// Whether the distance from `seq` to `other` is positive. Both may have any value.
const fn is_before(seq: u64, other: u64) -> bool {
    seq != other && other.wrapping_sub(seq) <= u64::MAX / 2
}

/// A slot holds its latest event only, so a station holds at most eight events.
fn overwritten(n: u64, newest: u64) -> Fetched {
    let oldest = newest.saturating_sub(SLOTS as u64 - 1);
    Fetched::Overwritten(oldest.max(n.saturating_add(1)))
}

/// In this dialect a slot's number changes only after its payload, so the oldest slot may be half
/// overwritten without a mark. An event counts only if its slot is not the next to be written, both
/// before and after the copy.
fn fetch_per_station(station: &Station, n: u64) -> Fetched {
    let target = n.wrapping_add(1);
    if newest(station, target) < 0 {
        return Fetched::NotYet;
    }
    let (before, epoch, after) = slot::copy(station.slot_of(target));
    let ahead = newest(station, target);
    let is_safe = ahead < SLOTS as i64 - 1;
    match (before == target && after == target, is_safe) {
        (true, true) => Fetched::Whole(epoch),
        (_, true) if is_before(before, target) => Fetched::NotYet,
        _ => overwritten(n, n.saturating_add_signed(ahead)),
    }
}

/// How far the newest sequence number is ahead of the target number.
fn newest(station: &Station, target: u64) -> i64 {
    let seqs = station.seqs().into_iter();
    seqs.map(|seq| seq.wrapping_sub(target) as i64)
        .max()
        .unwrap_or(-1)
}
