//! Recovers when the event numbers of a station (the eight event slots of a coroutine) jump back, or further
//! than a coroutine can advance. A correct writer never jumps, but after a fault the station's later events
//! must still be recorded. Reading continues at the oldest unread event that is still in the slots. The numbers
//! in the trace continue without a gap, and the coroutine's counts are marked as inexact.

use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::slot::{self, event_of, final_seq};

use super::cell::{MAX_CREDIBLE_EVENTS, StationCell};

/// The number of latest events that are surely readable: one of the slots may be in the middle of a write.
const READABLE: u64 = SLOTS as u64 - 1;

impl StationCell {
    /// Follows a head that has jumped: this project's probe writes its next event where the head says. A
    /// reader may be ahead of the head by an event and the events nested in it, because the head is
    /// written last.
    pub(super) fn follow_head(&mut self, station: &Station, head: u64) {
        let most_ahead = u64::from(station.begun().wrapping_sub(head as u32)).min(READABLE);
        let is_ahead = (1..=most_ahead).contains(&self.next_n().wrapping_sub(head));
        if !self.is_ours() || is_ahead || head.wrapping_sub(self.next_n()) <= MAX_CREDIBLE_EVENTS {
            return;
        }
        self.resume_at(self.first_unread(station, head));
    }

    /// Follows a v1 peer's numbers that have jumped, after its next event was absent. Returns true if that
    /// event cannot come any more and reading continues elsewhere.
    pub(super) fn follow_jump(&mut self, station: &Station) -> bool {
        let Some(dialect) = self.v1_dialect else {
            return false;
        };
        if self.is_a_lap_behind(dialect, station) {
            return false;
        }
        // Read once: a correct writer that continues meanwhile leaves a credible number in each slot.
        let held: Vec<u64> = events_held(dialect, station).collect();
        if held
            .iter()
            .any(|n| (1..=MAX_CREDIBLE_EVENTS).contains(&n.wrapping_sub(self.next_n())))
        {
            // The event may have been written since the caller looked for it.
            return self.is_absent(dialect, station) && self.skip_damaged();
        }
        if held
            .iter()
            .any(|n| n.wrapping_sub(self.next_n()).wrapping_add(READABLE + 1) <= READABLE)
        {
            return false;
        }
        match held
            .into_iter()
            .max_by_key(|n| time_of(dialect, station, *n))
        {
            Some(newest) => {
                let next = newest.wrapping_add(1);
                self.resume_at(self.first_unread(station, next));
                true
            }
            None => false,
        }
    }

    /// Whether the next event's slot holds the event of the lap before, or nothing yet.
    fn is_a_lap_behind(&self, dialect: Dialect, station: &Station) -> bool {
        let n = self.next_n();
        let seq = station.seqs()[place_of(dialect, n)];
        match n.checked_sub(SLOTS as u64) {
            Some(before) => seq == seq_of(dialect, before),
            None => seq == 0,
        }
    }

    fn is_absent(&self, dialect: Dialect, station: &Station) -> bool {
        match dialect.fetch(station, self.next_n()) {
            Fetched::NotYet => true,
            Fetched::Overwritten(oldest) => self.credible_skip(oldest, station).is_none(),
            Fetched::Whole(_) | Fetched::Torn => false,
        }
    }

    fn first_unread(&self, station: &Station, end: u64) -> u64 {
        let before = (1..=READABLE).map(|back| end.wrapping_sub(back));
        let unread = before.take_while(|n| match self.dialect().fetch(station, *n) {
            Fetched::Whole(epoch) => self.last_ns < epoch.timestamp,
            _ => false,
        });
        unread.last().unwrap_or(end)
    }
}

/// The event number of each slot that was ever written.
fn events_held(dialect: Dialect, station: &Station) -> impl Iterator<Item = u64> {
    let seqs = station.seqs().into_iter().enumerate();
    seqs.filter_map(move |(index, seq)| match dialect {
        _ if seq == 0 => None,
        Dialect::PerStation => Some(seq.wrapping_sub(1)),
        Dialect::PerSlot => {
            let whole = seq.wrapping_add(seq % 2);
            (whole != 0).then(|| event_of(index, whole))
        }
    })
}

fn time_of(dialect: Dialect, station: &Station, n: u64) -> u64 {
    let slot = &station.slots()[place_of(dialect, n)];
    slot::copy(slot).1.timestamp
}

fn place_of(dialect: Dialect, n: u64) -> usize {
    match dialect {
        Dialect::PerStation => slot::index_of(n.wrapping_add(1)),
        Dialect::PerSlot => slot::index_of(n),
    }
}

fn seq_of(dialect: Dialect, n: u64) -> u64 {
    match dialect {
        Dialect::PerStation => n.wrapping_add(1),
        Dialect::PerSlot => final_seq(n),
    }
}
