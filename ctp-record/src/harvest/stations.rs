//! Coroutines that take a station, leave a station, or appear in a station by a fault.

use ctp_nostd::Region;
use ctp_nostd::dialect::Dialect;
use ctp_nostd::inspect::Identity;
use ctp_nostd::layout::Station;
use ctp_trace::record::{Birth, CoroutineId, Nanos, ProcessId, Record};

use super::cell::{self, StationCell};
use super::{Harvest, Outside, Pass, Sink, convert};

/// The most stations without an event that a pass examines.
pub(super) const UNWRITTEN_PER_PASS: usize = 4096;

/// The time of the latest event that a station holds, or else of the birth.
fn latest_time(station: &Station, identity: &Identity) -> u64 {
    let latest = station
        .slots()
        .iter()
        .map(|slot| ctp_nostd::slot::copy(slot).1.timestamp)
        .max();
    latest.filter(|at| *at != 0).unwrap_or(identity.birth_ts)
}

impl Harvest {
    /// Adds new stations. If the header was overwritten by a fault, its count is ignored.
    pub(super) fn discover(&mut self, region: &Region<'_>) {
        if !region.is_intact() {
            return;
        }
        self.cells.discover(region.allocated().len());
    }

    /// Finds out which probe writes each new station. Stations of this project's probe are known by their
    /// first event; a station with events and no generation belongs to a v1 peer. Examines at most
    /// `unwritten` stations without an event and leaves the others to the next pass, because an overwritten
    /// header may claim very many stations.
    pub(super) fn identify_writers(&mut self, mut unwritten: usize, pass: &mut Pass<'_>) {
        for _ in 0..self.cells.unidentified() {
            if unwritten == 0 {
                return;
            }
            let Some(index) = self.cells.next_unidentified() else {
                return;
            };
            if self.cells[index as usize].is_known() {
                continue;
            }
            let station = &pass.region.stations[index as usize];
            match cell::writer_of(station) {
                None => {
                    unwritten -= 1;
                    self.cells.put_back_unidentified(index);
                }
                Some(cell::WritingProbe::Ours) => {}
                Some(cell::WritingProbe::V1Peer(dialect)) => {
                    self.cells.note_v1_peer(index);
                    self.introduce(index as usize, Some(dialect), pass);
                }
            }
        }
    }

    /// Introduces the coroutines of v1 peers that had no event by the end of the recording. After the
    /// end, their unknown dialect does not matter. A damaged header may claim very many of these.
    pub(crate) fn introduce_silent_peers(
        &mut self,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) {
        let mut pass = Pass::over(region, outside, sink);
        self.identify_writers(usize::MAX, &mut pass);
        for _ in 0..self.cells.unidentified() {
            let Some(index) = self.cells.next_unidentified() else {
                return;
            };
            let identity = region.stations[index as usize].identity();
            match identity.filter(|identity| !identity.is_extended && identity.probe_id != 0) {
                Some(identity) if self.is_after_stop(identity.birth_ts) => {}
                Some(_) => {
                    self.cells.note_v1_peer(index);
                    self.introduce(index as usize, Some(Dialect::PerSlot), &mut pass);
                }
                None => self.cells.put_back_unidentified(index),
            }
        }
    }

    /// Records the birth of a newly seen coroutine. Returns false if the coroutine is just taking the station,
    /// or if the trace has no number left.
    pub(super) fn introduce(
        &mut self,
        index: usize,
        v1_dialect: Option<Dialect>,
        pass: &mut Pass<'_>,
    ) -> bool {
        let station = &pass.region.stations[index];
        let Some(identity) = station.identity() else {
            return false;
        };
        let is_new = identity.is_extended && self.cells[index].is_new(&identity);
        if v1_dialect.is_none() && (!is_new || self.is_after_stop(identity.birth_ts)) {
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
        self.totals.v1_coroutines += u32::from(v1_dialect.is_some());
        self.cells[index] = StationCell::new(id, process, v1_dialect, &identity);
        self.cells[index].inexact = !has_clock;
        let name = self.sites.name(pass.region, identity.meta);
        let spawn_site = self.sites.interned(process, name.site, pass);
        let born = self.birth_time(&identity);
        // The coroutine may have no events in the trace if all of them are excluded.
        self.latest.note(born);
        pass.sink.take(Record::Birth(Birth {
            coroutine: id,
            process,
            station: index as u32,
            name: name.text,
            spawn_site,
            ..convert::birth(&identity, v1_dialect, born)
        }));
        true
    }

    /// The time of birth, or the start of the recording if the stated time is impossible.
    fn birth_time(&mut self, identity: &Identity) -> Nanos {
        let born_ns = if self.horizon.is_possible(identity.birth_ts) {
            identity.birth_ts
        } else {
            self.horizon.start_ns()
        };
        self.horizon.nanos(born_ns)
    }

    /// Remembers a coroutine that got no number, so that it is counted once. The coroutine keeps its station.
    fn refuse(&mut self, index: usize, identity: &Identity) {
        let unknown = StationCell::new(CoroutineId(0), ProcessId(0), None, identity);
        self.cells[index] = unknown.vacant();
        self.totals.refused = self.totals.refused.saturating_add(1);
    }

    /// Notices a coroutine that took the station although the recorder had not freed it. From now on the new
    /// coroutine's events are read, and the account of the coroutine before it is inexact.
    pub(super) fn notice_unexpected_owner(&mut self, index: usize, pass: &mut Pass<'_>) {
        let cell = &self.cells[index];
        let identity = pass.region.stations[index].identity();
        let is_unexpected = |identity: Identity| {
            identity.is_extended && (!cell.is_ours() || cell.is_new(&identity))
        };
        if !cell.is_known() || !identity.is_some_and(is_unexpected) {
            return;
        }
        self.cells[index].inexact = true;
        self.close(index, pass);
        self.cells[index] = StationCell::default();
    }

    /// Closes a coroutine that has ended and is read to its end, and frees its station.
    pub(super) fn vacate(&mut self, index: usize, pass: &mut Pass<'_>) {
        self.close(index, pass);
        let next_n = self.cells[index].next_n();
        self.cells[index] = self.cells[index].vacant();
        self.cells.set_head(index, next_n);
        pass.region.put_back(index as u32, next_n);
        pass.found.needs_stations = true;
    }
}
