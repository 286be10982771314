//! Who has which station: coroutines that come, that leave, and that somebody has written over.

use ctp_nostd::Region;
use ctp_nostd::dialect::Dialect;
use ctp_nostd::inspect::Identity;
use ctp_nostd::layout::Station;
use ctp_trace::record::{CoroutineId, ProcessId, Record};

use super::cell::{self, Cell};
use super::{Harvest, Outside, Pass, Sink, convert};

/// Stations without an event that a pass looks at.
pub(super) const UNWRITTEN_A_PASS: usize = 4096;

/// The latest time that is written in a station. Its birth may be long ago, or no time.
fn latest_time(station: &Station, identity: &Identity) -> u64 {
    let time = |slot| ctp_nostd::slot::copy(slot).1.timestamp;
    let latest = station.slots().iter().map(time).max();
    latest.filter(|at| *at != 0).unwrap_or(identity.birth_ts)
}

impl Harvest {
    /// Where somebody has overwritten the header, the count is not believed any more.
    pub(super) fn discover(&mut self, region: &Region<'_>) {
        if !region.is_intact() {
            return;
        }
        self.cells.discover(region.allocated().len());
    }

    /// Finds out who writes the stations that are new. One of ours is known by its first event;
    /// what has events and no generation is a v1 peer's. Of stations without an event at most
    /// `unwritten` are looked at, and the others in the next pass: a count of stations that was
    /// overwritten makes them many.
    pub(super) fn settle(&mut self, mut unwritten: usize, pass: &mut Pass<'_>) {
        for _ in 0..self.cells.unsettled() {
            if unwritten == 0 {
                return;
            }
            let Some(index) = self.cells.next_unsettled() else {
                return;
            };
            if self.cells[index as usize].is_known() {
                continue;
            }
            let station = &pass.region.stations[index as usize];
            match cell::writer_of(station) {
                None => {
                    unwritten -= 1;
                    self.cells.put_back_unsettled(index);
                }
                Some(cell::Writer::Ours) => {}
                Some(cell::Writer::Plain(dialect)) => {
                    self.cells.note_plain(index);
                    self.introduce(index as usize, Some(dialect), pass);
                }
            }
        }
    }

    /// Meets the coroutines of plain v1 peers that have had no event when the recording ends. Before, their
    /// dialect is not known; now none is needed. False words of a header make many of them.
    pub(crate) fn meet_silent_peers(
        &mut self,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let mut pass = Pass::over(region, outside, sink);
        self.settle(usize::MAX, &mut pass);
        for _ in 0..self.cells.unsettled() {
            let Some(index) = self.cells.next_unsettled() else {
                return;
            };
            let identity = region.stations[index as usize].identity();
            let is_silent = |it: &Identity| !it.extended && it.probe_id != 0;
            match identity.filter(is_silent) {
                Some(it) if self.is_later(it.birth_ts) => {}
                Some(_) => {
                    self.cells.note_plain(index);
                    self.introduce(index as usize, Some(Dialect::PerSlot), &mut pass);
                }
                None => self.cells.put_back_unsettled(index),
            }
        }
    }

    /// First sight of a coroutine: its birth becomes a record. False while it is moving in, and if the
    /// trace has no number left for it.
    pub(super) fn introduce(
        &mut self,
        index: usize,
        plain: Option<Dialect>,
        pass: &mut Pass<'_>,
    ) -> bool {
        let station = &pass.region.stations[index];
        let Some(identity) = station.identity() else {
            return false;
        };
        let is_new = identity.extended && self.cells[index].is_new(&identity);
        if plain.is_none() && (!is_new || self.is_later(identity.birth_ts)) {
            return false;
        }
        let Some(id) = pass.outside.numbers().coroutine() else {
            self.refuse(index, &identity);
            return false;
        };
        let peer = pass.peer_of(station, &identity);
        let process = pass.outside.process(peer, pass.sink);
        let has_clock =
            self.is_read_by_clock_of(process, (peer, latest_time(station, &identity)), pass);
        self.totals.coroutines += 1;
        self.totals.plain += u32::from(plain.is_some());
        self.cells[index] = Cell::new(id, process, plain, &identity);
        self.cells[index].inexact = !has_clock;
        let name = self.places.name(pass.region, identity.meta);
        let spawn_site = self.places.interned(process, name.site, pass);
        let born_ns = match self.horizon.may_have_been(identity.birth_ts) {
            true => identity.birth_ts,
            false => self.horizon.start_ns(),
        };
        let born = self.horizon.nanos(born_ns);
        // Of its events there may be none: they may have been kept out.
        self.latest.note(born);
        let mut birth = convert::birth(&identity, plain, born);
        birth.coroutine = id;
        birth.process = process;
        birth.station = index as u32;
        birth.name = name.text;
        birth.spawn_site = spawn_site;
        pass.sink.take(Record::Birth(birth));
        true
    }

    /// Remembers that this coroutine was there, so that it is counted once. It keeps its station.
    fn refuse(&mut self, index: usize, identity: &Identity) {
        let unknown = Cell::new(CoroutineId(0), ProcessId(0), None, identity);
        self.cells[index] = unknown.vacant();
        self.totals.refused = self.totals.refused.saturating_add(1);
    }

    /// Only the recorder hands out a station again. Whoever has written another occupant into it,
    /// that one is read from now on, and the one before is in doubt.
    pub(super) fn notice_usurper(&mut self, index: usize, pass: &mut Pass<'_>) {
        let cell = &self.cells[index];
        let identity = pass.region.stations[index].identity();
        let is_usurped = |it: Identity| it.extended && (!cell.is_ours() || cell.is_new(&it));
        if !cell.is_known() || !identity.is_some_and(is_usurped) {
            return;
        }
        self.cells[index].inexact = true;
        self.close(index, pass);
        self.cells[index] = Cell::default();
    }

    /// A coroutine of ours is over and read: its station is for another one.
    pub(super) fn vacate(&mut self, index: usize, pass: &mut Pass<'_>) {
        self.close(index, pass);
        let next_n = self.cells[index].next_n();
        self.cells[index] = self.cells[index].vacant();
        self.cells.set_head(index, next_n);
        pass.region.put_back(index as u32, next_n);
        pass.found.short = true;
    }
}
