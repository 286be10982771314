//! Lanes: the records of all threads, merged by their times, become the events of coroutines.
//!
//! A round takes what was committed when it began. An event goes to its coroutine only after the one
//! before it, which may lie in another thread's lane and not be seen until the next round: then
//! this lane waits for it. What the next round does not bring either was never recorded in a lane;
//! it is looked for in the station's slots, and else lost.

use ctp_nostd::inspect::Identity;
use ctp_nostd::lane::{Deed, Payload, Ring};
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::slot::{Epoch, EventKind, Tail};
use ctp_nostd::{Region, dialect::Fetched};

use super::cell::Cell;
use super::deeds::Author;
use super::{Harvest, Pass};

/// After so many records it is time to look at the stations: those of the dead are wanted.
const MOST_A_ROUND: u64 = 1 << 13;

/// How far all lanes have been read.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    cursors: Vec<Cursor>,
    /// Rounds so far.
    pub round: u64,
    /// All that was there when the latest round began has become events.
    pub is_complete: bool,
    /// Records that this round has taken.
    taken: u64,
}

/// How far one lane has been read.
#[derive(Debug, Default)]
struct Cursor {
    next: u64,
    /// Reserved when this round began.
    limit: u64,
    /// The record at `next`, once it is committed.
    front: Option<Record>,
    /// Whose records these are.
    author: Author,
    /// It waits for another lane.
    waits: bool,
    /// Records that found no room, when this round began.
    lost: u32,
    /// Since which round nothing could be taken from it.
    stuck_since: Option<u64>,
    /// Its words cannot be true: it is not read any more.
    is_damaged: bool,
}

/// What stands in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub at: u64,
    pub payload: Payload,
}

/// How much of the lanes a round takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// What is older than this.
    Before(u64),
    /// All that is there; nothing more comes.
    End,
}

/// What became of a record.
enum Outcome {
    Taken,
    /// The event before it has not been seen.
    Early,
}

impl Cursor {
    /// What is already given back was read by somebody else.
    fn at_tail(ring: &Ring<'_>) -> Self {
        Cursor {
            next: ring.tail(),
            ..Cursor::default()
        }
    }

    /// Looks how far its thread is.
    fn begin(&mut self, ring: &Ring<'_>) {
        self.limit = ring.head();
        self.lost = ring.lost();
        self.waits = false;
        let is_possible = self.limit.wrapping_sub(self.next) <= ring.capacity();
        self.is_damaged |= !is_possible || ring.tail() != self.next;
        self.look(ring);
    }

    fn look(&mut self, ring: &Ring<'_>) {
        self.front = match self.next == self.limit || self.is_damaged {
            true => None,
            false => ring
                .read(self.next)
                .map(|(at, payload)| Record { at, payload }),
        };
    }

    fn advance(&mut self, ring: &Ring<'_>) {
        self.next = self.next.wrapping_add(1);
        self.stuck_since = None;
        self.look(ring);
    }

    /// Somebody reserved the next record and has not committed it.
    fn is_pending(&self) -> bool {
        self.next != self.limit && self.front.is_none() && !self.is_damaged
    }

    /// Passes over records that their thread will not commit any more.
    fn pass_over_abandoned(&mut self, ring: &Ring<'_>, reach: Reach) {
        while self.is_pending() && (reach == Reach::End || ring.is_abandoned(self.next, self.limit))
        {
            self.advance(ring);
        }
    }

    /// How full its ring was, in the eighths of which a station has slots.
    fn eighths(&self, ring: &Ring<'_>) -> u64 {
        let unread = self.limit.wrapping_sub(self.next).min(ring.capacity());
        unread * SLOTS as u64 / ring.capacity().max(1)
    }
}

impl Lanes {
    /// Does any thread write into one?
    pub fn are_used(&self) -> bool {
        !self.cursors.is_empty()
    }

    /// How many threads have had.
    pub fn count(&self) -> u32 {
        self.cursors.len() as u32
    }

    /// Records that found no room, as far as what the lanes say can be believed.
    pub fn crowded_out(&self) -> u64 {
        let sound = self.cursors.iter().filter(|cursor| !cursor.is_damaged);
        sound.map(|cursor| u64::from(cursor.lost)).sum()
    }

    /// The thread whose records this lane has now.
    pub fn author(&mut self, lane: usize) -> &mut Author {
        &mut self.cursors[lane].author
    }

    /// What found no room in each sound lane, as known.
    pub fn losses(&self) -> Vec<(usize, u32)> {
        let cursors = self.cursors.iter().enumerate();
        let sound = cursors.filter(|(_, cursor)| !cursor.is_damaged);
        sound.map(|(lane, cursor)| (lane, cursor.lost)).collect()
    }

    fn begin(&mut self, rings: &[Ring<'_>], reach: Reach) {
        self.round += 1;
        self.taken = 0;
        let new = rings.iter().skip(self.cursors.len()).map(Cursor::at_tail);
        self.cursors.extend(new);
        for (cursor, ring) in self.cursors.iter_mut().zip(rings) {
            cursor.begin(ring);
            if cursor.stuck_since.is_some() {
                cursor.pass_over_abandoned(ring, reach);
            }
        }
    }

    /// Has this round taken enough?
    fn is_tired(&self, reach: Reach) -> bool {
        reach != Reach::End && MOST_A_ROUND <= self.taken
    }

    /// The lane with the earliest record that need not wait, and until when it has the earliest.
    fn earliest(&self, reach: Reach) -> Option<(usize, u64)> {
        let ready = |(index, cursor): (usize, &Cursor)| {
            let front = cursor.front.filter(|_| !cursor.waits)?;
            Some((front.at, index))
        };
        let fronts = || self.cursors.iter().enumerate().filter_map(ready);
        let (at, index) = fronts().min()?;
        let next = fronts().filter(|(_, other)| *other != index).min();
        let last = match reach {
            Reach::Before(horizon) => horizon.saturating_sub(1),
            Reach::End => u64::MAX,
        };
        let until = next.map_or(last, |(at, _)| at.min(last));
        (at <= until).then_some((index, until))
    }

    /// The lane that has waited a whole round, and has the earliest record of those.
    fn overdue(&self, reach: Reach) -> Option<usize> {
        let round = self.round;
        let is_overdue = |cursor: &Cursor| {
            reach == Reach::End || cursor.stuck_since.is_some_and(|since| since < round)
        };
        let waiting = self.cursors.iter().enumerate();
        waiting
            .filter(|(_, cursor)| cursor.waits && is_overdue(cursor))
            .filter_map(|(index, cursor)| Some((cursor.front?.at, index)))
            .min()
            .map(|(_, index)| index)
    }

    /// At the end nobody commits what is pending. True if there was something.
    fn pass_over_pending(&mut self, rings: &[Ring<'_>]) -> bool {
        let mut any = false;
        for (cursor, ring) in self.cursors.iter_mut().zip(rings) {
            any |= cursor.is_pending();
            cursor.pass_over_abandoned(ring, Reach::End);
        }
        any
    }

    /// Gives back what was read, and remembers who could not go on.
    fn end(&mut self, rings: &[Ring<'_>]) {
        let round = self.round;
        self.is_complete = self.taken < MOST_A_ROUND;
        for (cursor, ring) in self.cursors.iter_mut().zip(rings) {
            if cursor.is_damaged {
                continue;
            }
            ring.release(cursor.next);
            if cursor.waits || cursor.is_pending() {
                cursor.stuck_since.get_or_insert(round);
                self.is_complete = false;
            }
        }
    }
}

impl Harvest {
    /// The rings that threads have had: a lane is never used before those in front of it.
    fn rings<'m>(&self, region: &Region<'m>) -> Vec<Ring<'m>> {
        let known = self.lanes.cursors.len();
        let rings = (0..region.lanes.len() as u32).filter_map(|index| region.ring(index));
        let rings = rings.enumerate();
        let used = rings.take_while(|(index, ring)| *index < known || ring.is_used());
        used.map(|(_, ring)| ring).collect()
    }

    /// Reads the lanes as far as `reach`.
    pub(super) fn drain_lanes(&mut self, reach: Reach, pass: &mut Pass<'_>) {
        let rings = self.rings(pass.region);
        let before = self.totals;
        self.lanes.begin(&rings, reach);
        self.discover(pass.region);
        for (cursor, ring) in self.lanes.cursors.iter().zip(&rings) {
            pass.found.most = pass.found.most.max(cursor.eighths(ring));
        }
        while !self.lanes.is_tired(reach) {
            if let Some((index, until)) = self.lanes.earliest(reach) {
                self.take_until(index, until, reach, &rings[index], pass);
            } else if let Some(index) = self.lanes.overdue(reach) {
                self.take_by_force(index, &rings[index], pass);
            } else if !(reach == Reach::End && self.lanes.pass_over_pending(&rings)) {
                break;
            }
        }
        self.lanes.end(&rings);
        if reach == Reach::End {
            self.tell_last_losses(pass);
        }
        pass.found.events += self.totals.events - before.events;
        pass.found.lost |= self.totals.lost > before.lost;
    }

    fn take_until(
        &mut self,
        index: usize,
        until: u64,
        reach: Reach,
        ring: &Ring<'_>,
        pass: &mut Pass<'_>,
    ) {
        let before = self.lanes.taken;
        while !self.lanes.is_tired(reach)
            && let Some(record) = self.lanes.cursors[index].front
            && record.at <= until
        {
            if let Outcome::Early = self.take(index, &record, pass) {
                self.lanes.cursors[index].waits = true;
                break;
            }
            self.lanes.cursors[index].advance(ring);
            self.lanes.taken += 1;
        }
        if before < self.lanes.taken {
            // Who waited may have waited for one of these.
            let others = self.lanes.cursors.iter_mut().enumerate();
            others
                .filter(|(other, _)| *other != index)
                .for_each(|(_, cursor)| cursor.waits = false);
        }
    }

    fn take_by_force(&mut self, index: usize, ring: &Ring<'_>, pass: &mut Pass<'_>) {
        if let Some(record) = self.lanes.cursors[index].front {
            self.make_up_for_those_before(&record.payload, pass);
            if let Outcome::Early = self.take(index, &record, pass) {
                self.totals.quarantined += 1;
            }
            self.lanes.cursors[index].advance(ring);
        }
        for cursor in &mut self.lanes.cursors {
            cursor.waits = false;
        }
    }

    fn take(&mut self, lane: usize, record: &Record, pass: &mut Pass<'_>) -> Outcome {
        let payload = &record.payload;
        if let Some(deed) = Deed::from_code(payload.kind) {
            self.take_deed(lane, deed, record, pass);
            return Outcome::Taken;
        }
        let index = payload.station as usize;
        if !self.is_of_its_coroutine(index, payload, pass) {
            return Outcome::Taken;
        }
        let next_n = self.cells[index].next_n();
        match self.cells[index].ahead_of(payload) {
            Some(0) => {
                let epoch = self.epoch(lane, index, record, pass);
                self.emit(index, next_n, &epoch, pass);
                Outcome::Taken
            }
            Some(_) => Outcome::Early,
            // The slots gave it.
            None => Outcome::Taken,
        }
    }

    /// Is the coroutine known that this tells of? One that is new is introduced. What tells of none
    /// that can be here is left out.
    pub(super) fn is_of_its_coroutine(
        &mut self,
        index: usize,
        payload: &Payload,
        pass: &mut Pass<'_>,
    ) -> bool {
        let Some(cell) = self.cells.get(index) else {
            self.totals.quarantined += 1;
            return false;
        };
        if cell.is_known() {
            return cell.is_ours() && cell.uses() == payload.uses;
        }
        let identity = pass.region.stations[index].identity();
        let is_it = |it: &Identity| it.extended && uses(it.generation) == payload.uses;
        identity.as_ref().is_some_and(is_it) && self.introduce(index, None, pass)
    }

    /// The events before this one are in no lane: those that slots still hold are read, the others
    /// are lost. Not if the station has had no such event.
    fn make_up_for_those_before(&mut self, payload: &Payload, pass: &mut Pass<'_>) {
        let index = payload.station as usize;
        let Some(cell) = self.cells.get(index) else {
            return;
        };
        let station = &pass.region.stations[index];
        let ahead = cell.ahead_of(payload).unwrap_or(0);
        let end = cell.next_n().wrapping_add(ahead);
        if ahead <= station.event_head().wrapping_sub(cell.next_n()) {
            self.drain_slots_before(index, end, pass);
        }
    }

    fn epoch(&self, lane: usize, index: usize, record: &Record, pass: &Pass<'_>) -> Epoch {
        let Record { at, payload } = *record;
        let is_run = payload.kind == EventKind::Run as u8;
        let cell = &self.cells[index];
        Epoch {
            timestamp: at,
            tid: self.lanes.cursors[lane].author.tid,
            addr: 0,
            site: payload.site,
            arg: if is_run { 0 } else { payload.arg },
            generation: cell.generation(),
            tail: Tail {
                kind: payload.kind,
                wait_kind: payload.wait_kind,
                wake_seen: match is_run {
                    true => payload.arg as u16,
                    false => wakes_seen(cell, &pass.region.stations[index]),
                },
                ..Tail::default()
            },
        }
    }
}

/// Low bits of the use of a station, as records have them.
fn uses(generation: u32) -> u8 {
    (generation / 2) as u8
}

/// What a suspend has seen is what the run before it saw. If that is missing and the slot has been
/// written over, then a later event tells.
fn wakes_seen(cell: &Cell, station: &Station) -> u16 {
    let in_the_slot = || match cell.dialect().fetch(station, cell.next_n()) {
        Fetched::Whole(epoch) => Some(epoch.tail.wake_seen),
        _ => None,
    };
    cell.wakes_seen().or_else(in_the_slot).unwrap_or(0)
}

impl Cell {
    fn uses(&self) -> u8 {
        uses(self.generation())
    }

    /// How many events there are between the one to read next and this; nothing if it was read.
    fn ahead_of(&self, payload: &Payload) -> Option<u64> {
        let unknown = u64::BITS - payload.n_bits();
        let ahead = payload.n.wrapping_sub(self.next_n()) << unknown;
        (ahead <= u64::MAX / 2).then_some(ahead >> unknown)
    }
}
