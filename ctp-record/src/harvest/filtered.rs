//! Counts events that were excluded on purpose, and notices births and deaths among them.
//!
//! Excluded events move no head, so a scan of the heads does not see them. Once a command may exclude events,
//! each pass also reads the stations' counts of excluded events, which lie beside the heads.

use ctp_nostd::layout::Station;
use ctp_nostd::slot::EventKind as Stored;
use ctp_trace::record::EventKind;

use super::cell::StationCell;
use super::{Harvest, Pass};

impl Harvest {
    /// Notes that events may be excluded from now on.
    pub fn note_control(&mut self) {
        self.is_controlled = true;
    }

    /// Counts events excluded since the last pass, and vacates stations after excluded deaths.
    pub(super) fn count_filtered(&mut self, pass: &mut Pass<'_>) {
        if !self.is_controlled {
            return;
        }
        for index in 0..self.cells.len() {
            let station = &pass.region.stations[index];
            let is_new = station.filtered() != self.cells[index].filtered_seen();
            let has_died = station.hidden_kind() == Some(Stored::Death as u32);
            if is_new || (has_died && self.cells[index].is_ours()) {
                self.count_filtered_of(index, pass);
                self.vacate_if_dead(index, station, pass);
            }
        }
    }

    /// Counts the excluded events of a coroutine. A coroutine that has no other events is introduced.
    pub(super) fn count_filtered_of(&mut self, index: usize, pass: &mut Pass<'_>) {
        let station = &pass.region.stations[index];
        let is_counted = station.filtered() == self.cells[index].filtered_seen();
        if is_counted {
            return;
        }
        if !self.cells[index].is_known() && !self.introduce(index, None, pass) {
            return;
        }
        if self.cells[index].is_owner_of(station) {
            let more = self.cells[index].update_filtered(station.filtered());
            self.totals.filtered = self.totals.filtered.saturating_add(more);
        }
    }

    /// Whether events were excluded though the recorder gave no command to do so.
    pub(super) fn has_unexplained_filtering(&self, cell: &StationCell) -> bool {
        !self.is_controlled && 0 < cell.filtered
    }

    /// Vacates a station after its coroutine's excluded death, if nothing is left to read.
    fn vacate_if_dead(&mut self, index: usize, station: &Station, pass: &mut Pass<'_>) {
        let cell = &self.cells[index];
        let is_same = cell.is_ours() && cell.is_owner_of(station);
        let is_dead = station.identity().is_some_and(|identity| identity.is_dead);
        if is_same && is_dead && self.cells[index].is_read_to_end(station) {
            self.vacate(index, pass);
        }
    }
}

impl StationCell {
    /// The number of excluded events that are counted, modulo 2^32 like the station's count.
    pub(super) fn filtered_seen(&self) -> u32 {
        self.filtered as u32
    }

    pub(super) fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Takes over the station's count. Returns by how much it has grown.
    fn update_filtered(&mut self, count: u32) -> u64 {
        let more = count.wrapping_sub(self.filtered_seen());
        self.filtered += u64::from(more);
        more.into()
    }

    /// The kind of the latest event, if the latest event was excluded.
    pub(super) fn hidden(&self, station: &Station) -> Option<EventKind> {
        let kind = station.hidden_kind().filter(|_| 0 < self.filtered)?;
        let kinds = [
            (Stored::Birth, EventKind::Birth),
            (Stored::Run, EventKind::Run),
            (Stored::Suspend, EventKind::Suspend),
            (Stored::Death, EventKind::Death),
        ];
        let known = kinds.iter().find(|(stored, _)| *stored as u32 == kind);
        known.map(|(_, kind)| *kind)
    }

    fn is_owner_of(&self, station: &Station) -> bool {
        let identity = station.identity();
        self.is_ours() && identity.is_some_and(|identity| !self.is_new(&identity))
    }
}
