//! Which of two ways a v1 peer numbers its events. The published text and the published SDKs
//! disagree, and nothing in the memory says which one a program was built with.
//!
//! | | D1, the text | D2, the SDKs and ours |
//! | --- | --- | --- |
//! | sequence | of the station, from 1 | of the slot, odd while it is written |
//! | slot of event n | (n + 1) mod 8 | n mod 8 |
//! | seq of event n | n + 1 | 2 (n div 8) + 2 |

use crate::layout::{SLOTS, Station};
use crate::slot::{self, Epoch, Snapshot, event_of, final_seq, index_of};

/// How a peer numbers its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// One sequence for the station.
    PerStation,
    /// One for each slot.
    PerSlot,
}

/// What these sequence numbers tell, or nothing while all are zero.
///
/// It is D1 if every number that is not zero equals its slot's index modulo 8. D2's first event
/// has 1 or 2 in slot 0, and its neighbours stay too close to each other for this ever to hold.
pub fn detect(seqs: &[u64; SLOTS]) -> Option<Dialect> {
    let mut written = seqs
        .iter()
        .enumerate()
        .filter(|(_, seq)| **seq != 0)
        .peekable();
    written.peek()?;
    let in_place = |(index, seq): (usize, &u64)| *seq % SLOTS as u64 == index as u64;
    Some(if written.all(in_place) {
        Dialect::PerStation
    } else {
        Dialect::PerSlot
    })
}

/// What there is of event `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// All of it.
    Whole(Epoch),
    /// It has not been written yet.
    NotYet,
    /// It is being written, or its writer died at it.
    Torn,
    /// It is gone. The oldest that may still be there is this one.
    Overwritten(u64),
}

/// How often a slot that changes under the reader is tried again in one pass.
const TRIES: usize = 4;

impl Dialect {
    /// Event `n` of a station.
    pub fn fetch(self, station: &Station, n: u64) -> Fetched {
        match self {
            Dialect::PerSlot => fetch_per_slot(station, n),
            Dialect::PerStation => fetch_per_station(station, n),
        }
    }
}

fn fetch_per_slot(station: &Station, n: u64) -> Fetched {
    for _ in 0..TRIES {
        match slot::snapshot(station.slot_of(n)) {
            Snapshot::Changed => continue,
            Snapshot::Empty => return Fetched::NotYet,
            Snapshot::Whole(seq, epoch) if seq == final_seq(n) => return Fetched::Whole(epoch),
            Snapshot::Writing(seq) if seq.wrapping_add(1) == final_seq(n) => return Fetched::Torn,
            Snapshot::Whole(seq, _) => return older_or_newer(n, seq),
            Snapshot::Writing(seq) => return older_or_newer(n, seq.wrapping_add(1)),
        }
    }
    // It changes all the time, so this event is being overwritten.
    Fetched::Overwritten(n + 1)
}

fn older_or_newer(n: u64, seq: u64) -> Fetched {
    if seq < final_seq(n) {
        return Fetched::NotYet;
    }
    let newest_here = event_of(index_of(n), seq);
    Fetched::Overwritten((n + 1).max(newest_here.saturating_sub(SLOTS as u64 - 1)))
}

/// In this dialect a slot's number changes only after its payload, so the oldest slot may be
/// under overwrite with no mark: an event counts only while it is not that slot's turn, before
/// the copy and after.
fn fetch_per_station(station: &Station, n: u64) -> Fetched {
    let wanted = n + 1;
    let newest_before = newest(station);
    if newest_before < wanted {
        return Fetched::NotYet;
    }
    let (before, epoch, after) = slot::copy(&station.slots()[index_of(wanted)]);
    let newest_after = newest(station);
    let safe = wanted + (SLOTS as u64 - 1) > newest_after;
    match (before == wanted && after == wanted, safe) {
        (true, true) => Fetched::Whole(epoch),
        (_, true) if before < wanted => Fetched::NotYet,
        _ => Fetched::Overwritten((n + 1).max(newest_after.saturating_sub(SLOTS as u64 - 1))),
    }
}

fn newest(station: &Station) -> u64 {
    station.seqs().into_iter().max().unwrap_or(0)
}
