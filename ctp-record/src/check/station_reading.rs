//! A reading of a station: a copy of all that the rules need.

use ctp_nostd::audit::Raw;
use ctp_nostd::dialect::{self, Dialect};
use ctp_nostd::inspect::Identity;
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::{self, Epoch, event_of};

/// A slot, its number, and a smaller number that it had later.
pub type Fall = (usize, u64, u64);

/// A byte that plain v1 leaves free, and that is in use.
#[derive(Clone, Copy, Debug)]
pub struct FreeByte {
    /// The name of its word.
    pub word: &'static str,
    /// The slot of the word, if it is in a slot.
    pub slot: Option<usize>,
    /// The value of the word.
    pub value: u64,
}

/// A slot's number, its payload, and its number again.
type Copy = (u64, Epoch, u64);

/// A station as it was read.
#[derive(Clone, Debug)]
pub struct StationReading {
    /// The station's words.
    pub raw: Raw,
    /// The coroutine's identity from these words; `None` while the identity is being written.
    pub identity: Option<Identity>,
    /// The numbering of the writer; `None` before the first event.
    pub dialect: Option<Dialect>,
    /// Sequence numbers, read before the events.
    pub seqs: [u64; SLOTS],
    /// Sequence numbers, read after the events.
    pub seqs_after: [u64; SLOTS],
    /// A slot with a number that decreased during the reading.
    pub fell: Option<Fall>,
    /// Nothing changed during the reading, so that all values were valid at the same time.
    pub is_still: bool,
    /// Complete events with their index, ordered by index. In dialect D1 the oldest is left out, and all are left out
    /// if the station changed during the reading.
    pub events: Vec<(u64, Epoch)>,
    /// The first of the free bytes that is in use.
    pub written_free_byte: Option<FreeByte>,
    /// Events of all coroutines that used the station, as counted by an extended probe.
    pub head: u64,
    /// CLOCK_MONOTONIC, after the reading.
    pub now_ns: u64,
}

impl StationReading {
    /// Reads a station.
    pub fn at(station: &Station, now_ns: impl Fn() -> u64) -> Self {
        let dialect = dialect::of(station);
        let seqs = station.seqs();
        let copies = station.slots().each_ref().map(slot::copy);
        let raw = station.raw();
        let identity = station.identity();
        let head = station.event_head();
        let used = station.first_used();
        let seqs_after = station.seqs();
        let is_still = seqs_after == seqs && station.raw() == raw;
        let mut events = events_of(&copies, dialect);
        if dialect == Some(Dialect::PerStation) {
            leave_out_torn(&mut events, &seqs, is_still);
        }
        events.sort_by_key(|(n, _)| *n);
        StationReading {
            raw,
            identity,
            dialect,
            seqs,
            seqs_after,
            fell: fall_in(&seqs, &copies, &seqs_after),
            is_still,
            events,
            written_free_byte: used.map(|(word, slot, value)| FreeByte { word, slot, value }),
            head,
            now_ns: now_ns(),
        }
    }

    /// Whether the probe uses the free bytes for the extension.
    pub fn is_extended(&self) -> bool {
        self.raw.ext_rev != 0
    }

    /// The newest event in a slot with an even number.
    pub fn newest_whole(&self) -> Option<u64> {
        let slots = (0..SLOTS).filter(|slot| self.seqs[*slot].is_multiple_of(2));
        slots.filter_map(|index| self.event_in(index)).max()
    }

    /// Whether this event or a later one has begun.
    pub fn has(&self, n: u64) -> bool {
        self.newest().is_some_and(|newest| n <= newest)
    }

    /// For a dead coroutine of an extended probe, once all its events are complete: the generation of the station and
    /// the index of the next coroutine's first event.
    pub fn left(&self) -> Option<(u32, u64)> {
        let next_n = self.newest()?.checked_add(1)?;
        let is_over = self.is_extended() && self.is_still && self.raw.is_dead == 1;
        let is_whole = self.identity.is_some() && self.head == next_n;
        (is_over && is_whole).then_some((self.raw.generation, next_n))
    }

    /// Events of an extended probe with a site id, and this id.
    pub fn sites(&self) -> impl Iterator<Item = (u64, u32)> {
        let events = self.events.iter().filter(|_| self.is_extended());
        let ids = events.map(|(n, epoch)| (*n, SiteWord(epoch.site).interned()));
        ids.filter(|(_, id)| *id != 0)
    }

    /// The id of the coroutine's name.
    pub fn name(&self) -> Option<u32> {
        let owner = self
            .identity
            .filter(|_| self.is_still && self.is_extended())?;
        Some(owner.meta).filter(|id| *id != 0)
    }

    /// The event that a slot holds or is about to hold.
    pub fn event_in(&self, index: usize) -> Option<u64> {
        let seq = self.seqs[index];
        match self.dialect? {
            _ if seq == 0 => None,
            Dialect::PerSlot => Some(event_of(index, seq.saturating_add(seq % 2))),
            Dialect::PerStation => Some(seq - 1),
        }
    }

    /// The newest event, complete or not.
    pub fn newest(&self) -> Option<u64> {
        (0..SLOTS).filter_map(|index| self.event_in(index)).max()
    }
}

/// Removes events that may be torn. In D1 nothing marks that the oldest event is being overwritten. If the station
/// changed during the reading, any event may be torn.
fn leave_out_torn(events: &mut Vec<(u64, Epoch)>, seqs: &[u64; SLOTS], is_still: bool) {
    let next = seqs.iter().max().copied().unwrap_or_default();
    events.retain(|(n, _)| is_still && next.saturating_sub(*n) < SLOTS as u64);
}

fn events_of(copies: &[Copy; SLOTS], dialect: Option<Dialect>) -> Vec<(u64, Epoch)> {
    let slots = copies.iter().enumerate();
    let whole = slots.filter(|(_, (before, _, after))| before == after && *before != 0);
    whole
        .filter_map(|(index, (seq, epoch, _))| match dialect? {
            Dialect::PerSlot if seq % 2 == 1 => None,
            Dialect::PerSlot => Some((event_of(index, *seq), *epoch)),
            Dialect::PerStation => Some((seq - 1, *epoch)),
        })
        .collect()
}

fn fall_in(seqs: &[u64; SLOTS], copies: &[Copy; SLOTS], after: &[u64; SLOTS]) -> Option<Fall> {
    (0..SLOTS).find_map(|slot| {
        let (before_copy, _, after_copy) = copies[slot];
        let read = [seqs[slot], before_copy, after_copy, after[slot]];
        let mut fall = read.windows(2).filter(|two| two[1] < two[0]);
        fall.next().map(|two| (slot, two[0], two[1]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTP-28
    #[test]
    fn the_oldest_event_is_left_out_at_the_largest_numbers() {
        let events_from = |first: u64| {
            let seqs: [u64; SLOTS] = std::array::from_fn(|slot| first + slot as u64);
            let mut events = seqs.map(|seq| (seq - 1, Epoch::default())).to_vec();
            leave_out_torn(&mut events, &seqs, true);
            events.first().map(|(n, _)| n - (first - 1))
        };
        assert_eq!(events_from(64), Some(1));
        assert_eq!(events_from(u64::MAX - 7), Some(1));
    }
}
