//! Recorder: raw words of a station or an entry, for telling whether a probe keeps to the protocol. Unlike
//! [`crate::inspect`] nothing is interpreted, so that what is wrong can be seen.

use crate::memory::layout::{Aggregate, Interned, SLOTS, Station};
use crate::sync::Ordering;

/// Words of a station as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// The coroutine's id.
    pub probe_id: u64,
    /// Nanoseconds on the monotonic clock.
    pub birth_ts: u64,
    /// 0 or 1.
    pub is_dead: u8,
    /// 1: a probe that uses the free bytes.
    pub ext_rev: u8,
    /// Odd while an occupant moves in.
    pub generation: u32,
    /// The high bits of the wake word: which use of the station, modulo 2^12.
    pub wake_use: u32,
    /// The last byte of each slot.
    pub is_active: [u8; SLOTS],
}

impl Station {
    /// Its words, each read once.
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

    /// The first free byte of cTP v1's that is not zero, by the word that it lies in: the name
    /// of the word, the slot if it lies in one, and what is in it.
    pub fn first_used(&self) -> Option<(&'static str, Option<usize>, u64)> {
        let line = self.identity_words().into_iter().chain(self.late_words());
        let line = line.map(|(name, word)| (name, None, word));
        let slots = (0..SLOTS).flat_map(|index| {
            let words = self.slot_words(index).into_iter();
            words.map(move |(name, word)| (name, Some(index), word))
        });
        line.chain(slots).find(|(_, _, word)| *word != 0)
    }

    fn identity_words(&self) -> [(&'static str, u64); 13] {
        let byte = |byte: &crate::sync::AtomicU8| u64::from(byte.load(Ordering::Relaxed));
        let half = |half: &crate::sync::AtomicU32| u64::from(half.load(Ordering::Relaxed));
        [
            ("ext_rev", byte(&self.ext_rev)),
            ("flags", byte(&self.flags)),
            ("kind", byte(&self.kind)),
            ("generation", half(&self.generation)),
            ("wake", half(&self.wake)),
            ("waker", half(&self.waker)),
            ("wake_ts", self.wake_ts.load(Ordering::Relaxed)),
            ("wakers_live", half(&self.wakers_live)),
            ("freeze", half(&self.freeze)),
            ("owner", half(&self.owner)),
            ("meta", half(&self.meta)),
            ("base_n", self.base_n.load(Ordering::Relaxed)),
            ("event_head", self.event_head.load(Ordering::Relaxed)),
        ]
    }

    fn late_words(&self) -> [(&'static str, u64); 14] {
        let half = |half: &crate::sync::AtomicU32| u64::from(half.load(Ordering::Relaxed));
        [
            ("last_ts", self.last_ts.load(Ordering::Relaxed)),
            ("state", half(&self.state)),
            ("begun", half(&self.begun)),
            ("pc", self.pc.load(Ordering::Relaxed)),
            ("sp", self.sp.load(Ordering::Relaxed)),
            ("fp", self.fp.load(Ordering::Relaxed)),
            ("latch_waiting", half(&self.latch_waiting)),
            ("latch_running", half(&self.latch_running)),
            ("dropped_filtered", half(&self.dropped_filtered)),
            ("dropped_nested", half(&self.dropped_nested)),
            ("waiting_a", any(&self.waiting_a)),
            ("waiting_b", any(&self.waiting_b)),
            ("running_a", any(&self.running_a)),
            ("running_b", any(&self.running_b)),
        ]
    }

    fn slot_words(&self, index: usize) -> [(&'static str, u64); 5] {
        let slot = &self.slots[index];
        [
            ("site", slot.site.load(Ordering::Relaxed)),
            ("arg", slot.arg.load(Ordering::Relaxed)),
            (
                "generation",
                u64::from(slot.generation.load(Ordering::Relaxed)),
            ),
            ("chain", u64::from(slot.chain.load(Ordering::Relaxed))),
            ("tail", slot.tail.load(Ordering::Relaxed) & (u64::MAX >> 8)),
        ]
    }
}

impl Interned {
    /// Has somebody taken the entry?
    pub fn is_claimed(&self) -> bool {
        self.key.load(Ordering::Acquire) != 0
    }

    /// Is all of it there?
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) != 0
    }
}

/// Some word of it that is not zero, or 0.
fn any(aggregate: &Aggregate) -> u64 {
    let words = [
        &aggregate.count,
        &aggregate.sum,
        &aggregate.min,
        &aggregate.max,
    ];
    let words = words.into_iter().map(|word| word.load(Ordering::Relaxed));
    let bins = aggregate.bins.iter();
    let bins = bins.map(|bin| u64::from(bin.load(Ordering::Relaxed)));
    words.chain(bins).find(|word| *word != 0).unwrap_or(0)
}
