//! One look at a station: all that the rules need, copied once.

use ctp_nostd::audit::Raw;
use ctp_nostd::dialect::{self, Dialect};
use ctp_nostd::inspect::Identity;
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::slot::{self, Epoch, Snapshot, event_of};

/// A station at one time.
#[derive(Clone, Debug)]
pub struct Look {
    /// Its words.
    pub raw: Raw,
    /// The same, interpreted; nothing while somebody moves in.
    pub identity: Option<Identity>,
    /// How its writer numbers, nothing before the first event.
    pub dialect: Option<Dialect>,
    /// Sequence numbers, read before the events.
    pub seqs: [u64; SLOTS],
    /// Nothing changed while it was looked at, so that all of it held at one instant.
    pub still: bool,
    /// Whole events with their index, by index. Of D1 only if the station was still, and without the oldest.
    pub events: Vec<(u64, Epoch)>,
    /// Free bytes in use: word, slot, value.
    pub used: Option<(&'static str, Option<usize>, u64)>,
    /// Events of all occupants, as an extended probe counts them.
    pub head: u64,
    /// CLOCK_MONOTONIC, after the look.
    pub now_ns: u64,
}

impl Look {
    /// Looks now.
    pub fn at(station: &Station, now_ns: impl Fn() -> u64) -> Self {
        let dialect = dialect::of(station);
        let seqs = station.seqs();
        let mut events = events_of(station, dialect);
        let raw = station.raw();
        let identity = station.identity();
        let head = station.event_head();
        let still = station.seqs() == seqs && station.raw() == raw;
        if dialect == Some(Dialect::PerStation) {
            leave_out_torn(&mut events, &seqs, still);
        }
        events.sort_by_key(|(n, _)| *n);
        Look {
            raw,
            identity,
            dialect,
            seqs,
            still,
            events,
            used: station.first_used(),
            head,
            now_ns: now_ns(),
        }
    }

    /// A probe that uses the free bytes as our extension says.
    pub fn extended(&self) -> bool {
        self.raw.ext_rev != 0
    }

    /// The newest event of a slot whose number is even.
    pub fn newest_whole(&self) -> Option<u64> {
        let slots = (0..SLOTS).filter(|slot| self.seqs[*slot].is_multiple_of(2));
        slots.filter_map(|index| self.event_in(index)).max()
    }

    /// Was this event there, whole or not, or one that came after it?
    pub fn has(&self, n: u64) -> bool {
        self.newest().is_some_and(|newest| n <= newest)
    }

    /// Of a probe that uses stations again, once the occupant is over and all that it wrote is
    /// there: which use of the station that was, and the event that the next one begins with.
    pub fn left(&self) -> Option<(u32, u64)> {
        let next_n = self.newest()?.checked_add(1)?;
        let is_over = self.extended() && self.still && self.raw.is_dead == 1;
        let is_whole = self.identity.is_some() && self.head == next_n;
        (is_over && is_whole).then_some((self.raw.generation, next_n))
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

    /// Its newest event, whole or not.
    pub fn newest(&self) -> Option<u64> {
        (0..SLOTS).filter_map(|index| self.event_in(index)).max()
    }
}

/// Of D1 nothing tells that the oldest event is being overwritten, nor, while others are, which.
fn leave_out_torn(events: &mut Vec<(u64, Epoch)>, seqs: &[u64; SLOTS], still: bool) {
    let next = seqs.iter().max().copied().unwrap_or_default();
    events.retain(|(n, _)| still && next < n + SLOTS as u64);
}

fn events_of(station: &Station, dialect: Option<Dialect>) -> Vec<(u64, Epoch)> {
    let slots = station.slots().iter().enumerate();
    let whole = |(index, slot): (usize, &_)| match dialect? {
        Dialect::PerSlot => match slot::snapshot(slot) {
            Snapshot::Whole(seq, epoch) => Some((event_of(index, seq), epoch)),
            _ => None,
        },
        Dialect::PerStation => {
            let (before, epoch, after) = slot::copy(slot);
            (before == after && before != 0).then(|| (before - 1, epoch))
        }
    };
    slots.filter_map(whole).collect()
}
