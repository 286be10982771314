//! What a snapshot has of one coroutine.

use std::sync::Arc;

use ctp_nostd::inspect::WakeState;
use ctp_nostd::lane::Payload;
use ctp_nostd::slot::Epoch;
use ctp_trace::record::{Aggregate, Tally};

use super::chronicle::Resident;
use crate::harvest::Occupant;

/// A coroutine, and how far its events have been told.
#[derive(Debug)]
pub struct Person {
    /// Who.
    pub resident: Arc<Resident>,
    /// The first and the last of its events that lanes have in the window.
    in_lanes: Option<(u64, u64)>,
    /// The event after the last one to tell.
    end_n: u64,
    /// It went on after its station was looked at, so that nothing else is known of that time.
    went_on: bool,
    /// It is told of one by one.
    pub is_told: bool,
    /// The next event to tell.
    pub next_n: u64,
    /// Events before the first that is told.
    pub earlier: u64,
    /// Events that were told.
    pub recorded: u64,
    /// Events that were told to come after some that were kept out: each group has one index.
    pub breaks: u64,
    /// Wakes that its latest run had seen, if that was just before.
    pub wakes_seen: Option<u16>,
}

impl Person {
    /// Nothing told yet.
    pub fn new(resident: Arc<Resident>) -> Self {
        let end_n = resident.occupant.end_n;
        Person {
            resident,
            in_lanes: None,
            end_n,
            went_on: false,
            is_told: false,
            next_n: 0,
            earlier: 0,
            recorded: 0,
            breaks: 0,
            wakes_seen: None,
        }
    }

    /// As its station had it.
    pub fn occupant(&self) -> &Occupant {
        &self.resident.occupant
    }

    /// A lane has this event.
    pub fn note(&mut self, n: u64) {
        let (first, last) = self.in_lanes.unwrap_or((n, n));
        self.in_lanes = Some((first.min(n), last.max(n)));
    }
    /// Now that all lanes were looked at: it is told of unless it was over before the window began.
    /// Its events are told from the first one in the window on, and at least those that its station
    /// holds.
    pub fn settle(&mut self, since_ns: u64) {
        let occupant = &self.resident.occupant;
        let held = occupant.latest.first().map(|(n, _)| *n);
        let is_of_now = !occupant.has_ended || since_ns <= occupant.last_ts && held.is_some();
        self.is_told = is_of_now || self.in_lanes.is_some();
        let (first, last) = self.in_lanes.unzip();
        let behind = last.map_or(occupant.end_n, |last| last.wrapping_add(1));
        self.went_on = occupant.end_n < behind;
        self.end_n = behind.max(occupant.end_n);
        // What the station held before may be too long ago to join on.
        let is_apart = first.is_some_and(|first| occupant.end_n < first);
        let known = [first, held.filter(|_| !is_apart)].into_iter().flatten();
        self.next_n = known.min().unwrap_or(occupant.end_n);
        self.earlier = self.next_n.wrapping_sub(occupant.base_n);
    }

    /// What its program summed up, as of the look at its station. What went on after that and
    /// before the first event to tell is in no sum.
    pub fn aggregate(&self) -> Option<Box<Aggregate>> {
        let mut aggregate = self.occupant().aggregate.clone()?;
        let first = self.occupant().base_n.wrapping_add(self.earlier);
        let between = first.saturating_sub(self.occupant().end_n);
        aggregate.left_out = aggregate.left_out.saturating_add(between);
        Some(aggregate)
    }

    /// Its wakes, unless it went on without anybody looking.
    pub fn wakes(&self) -> Option<WakeState> {
        self.occupant().wakes.filter(|_| !self.went_on)
    }
    /// Events that are neither told nor came before those that are. Asked once all are told.
    pub fn lost(&self) -> u64 {
        let attempted = self.tally().attempted;
        attempted
            .saturating_sub(self.recorded)
            .saturating_sub(self.earlier)
    }

    /// How far this event is ahead of the next one to tell; nothing if it was told, or came before
    /// or after all that are to be.
    pub fn ahead_of(&self, n: u64) -> Option<u64> {
        let ahead = n.wrapping_sub(self.next_n);
        let left = self.end_n.wrapping_sub(self.next_n);
        (ahead < left).then_some(ahead)
    }

    /// The index of a record's event, of which some bits are known: it is near the next one.
    pub fn index_of(&self, payload: &Payload) -> u64 {
        let unknown = u64::BITS - payload.n_bits();
        let ahead = payload.n.wrapping_sub(self.next_n) << unknown;
        self.next_n.wrapping_add_signed(ahead as i64 >> unknown)
    }

    /// The number of event `n` in the trace.
    pub fn number_of(&self, n: u64) -> u64 {
        n.wrapping_sub(self.occupant().base_n)
            .wrapping_add(self.breaks)
    }

    /// The event of this index as its station has it.
    pub fn held(&self, n: u64) -> Option<&Epoch> {
        let held = self.occupant().latest.iter();
        let mut held = held.filter(|(known, _)| *known == n);
        held.next().map(|(_, epoch)| epoch)
    }

    /// Its account, once all is told.
    pub fn tally(&self) -> Tally {
        let tally = self.occupant().tally;
        let more = self.end_n.wrapping_sub(self.occupant().end_n);
        Tally {
            attempted: tally.attempted.saturating_add(more),
            recorded: self.recorded,
            torn: tally.torn.filter(|_| !self.went_on),
            ..tally
        }
    }
}
