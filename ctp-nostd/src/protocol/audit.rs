//! The raw words of a station or an entry, from which `ctp-record --check-probe` checks whether a
//! probe keeps to the protocol. Unlike [`crate::inspect`], nothing is interpreted, so violations stay visible.

use crate::memory::layout::{Interned, SLOTS, Station, Words as _};
use crate::sync::Ordering;

/// Raw words of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// The coroutine's id.
    pub probe_id: u64,
    /// Nanoseconds on the monotonic clock.
    pub birth_ts: u64,
    /// 0 or 1.
    pub is_dead: u8,
    /// 1: the probe uses the extension.
    pub ext_rev: u8,
    /// Odd while a coroutine moves in.
    pub generation: u32,
    /// The high bits of the wake word: use of the station, modulo 2^12.
    pub wake_use: u32,
    /// The last byte of each slot.
    pub is_active: [u8; SLOTS],
}

impl Station {
    /// The raw words, each read once.
    pub fn raw(&self) -> Raw {
        Raw {
            probe_id: self.probe_id.load(Ordering::Relaxed),
            birth_ts: self.birth_ts.load(Ordering::Relaxed),
            is_dead: self.is_dead.load(Ordering::Acquire),
            ext_rev: self.ext_rev.load(Ordering::Relaxed),
            generation: self.generation.load(Ordering::Acquire),
            wake_use: self.wake.load(Ordering::Acquire) >> 20,
            is_active: core::array::from_fn(|index| {
                self.slots[index].tail.load(Ordering::Relaxed).to_le_bytes()[7]
            }),
        }
    }

    /// The first nonzero free byte of cTP v1, by the word that contains it: the name of the word,
    /// the slot if it is in a slot, and its value.
    pub fn first_used(&self) -> Option<(&'static str, Option<usize>, u64)> {
        const USED: [&str; 4] = ["probe_id", "birth_ts", "is_dead", "slots"];
        let line = self.fields().filter(|(name, _)| !USED.contains(name));
        let line = line.map(|(name, word)| (name, None, word));
        let slots = self.slots.iter().enumerate().flat_map(|(index, slot)| {
            let words = slot.fields().filter_map(free_of_slot);
            words.map(move |(name, word)| (name, Some(index), word))
        });
        line.chain(slots).find(|(_, _, word)| *word != 0)
    }
}

/// The free bits of this word of a slot: none in most words of cTP v1, all but the last byte in
/// `tail`.
fn free_of_slot((name, word): (&'static str, u64)) -> Option<(&'static str, u64)> {
    match name {
        "timestamp" | "tid" | "addr" | "seq" => None,
        "tail" => Some((name, word & (u64::MAX >> 8))),
        _ => Some((name, word)),
    }
}

impl Interned {
    /// Whether a probe has claimed the entry.
    pub fn is_claimed(&self) -> bool {
        self.key.load(Ordering::Acquire) != 0
    }

    /// Whether the entry is complete.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) != 0
    }
}
