//! Events that were kept out on purpose: counted here, and the ends and births among them noticed.
//!
//! They move no head, so a pass over the heads does not see them. Once somebody has controlled what
//! is kept, each pass reads the counts too, which lie beside the heads.

use ctp_nostd::layout::Station;
use ctp_nostd::slot::EventKind as Stored;
use ctp_trace::record::EventKind;

use super::cell::Cell;
use super::{Harvest, Pass};

impl Harvest {
    /// From now on events may be kept out.
    pub fn note_control(&mut self) {
        self.is_controlled = true;
    }

    /// Counts what was kept out since the last pass, and lets those go whose death was.
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
                self.let_go(index, station, pass);
            }
        }
    }

    /// Counts what was kept out of one coroutine. One that had nothing else is met by that.
    pub(super) fn count_filtered_of(&mut self, index: usize, pass: &mut Pass<'_>) {
        let station = &pass.region.stations[index];
        let is_counted = station.filtered() == self.cells[index].filtered_seen();
        if is_counted {
            return;
        }
        if !self.cells[index].is_known() && !self.introduce(index, None, pass) {
            return;
        }
        if self.cells[index].is_its_occupant(station) {
            let more = self.cells[index].see_filtered(station.filtered());
            self.totals.filtered = self.totals.filtered.saturating_add(more);
        }
    }

    /// Did something keep out events that was no command of ours?
    pub(super) fn is_filtered_by_nobody(&self, cell: &Cell) -> bool {
        !self.is_controlled && 0 < cell.filtered
    }

    /// One is over of which the death was kept out, and nothing is left to read.
    fn let_go(&mut self, index: usize, station: &Station, pass: &mut Pass<'_>) {
        let cell = &self.cells[index];
        let is_it = cell.is_ours() && cell.is_its_occupant(station);
        let is_dead = station.identity().is_some_and(|it| it.is_dead);
        if is_it && is_dead && self.cells[index].is_over(station) {
            self.vacate(index, pass);
        }
    }
}

impl Cell {
    /// As a station counts them.
    pub(super) fn filtered_seen(&self) -> u32 {
        self.filtered as u32
    }

    pub(super) fn filtered(&self) -> u64 {
        self.filtered
    }

    /// So many now stand in the station: how many more that are.
    fn see_filtered(&mut self, count: u32) -> u64 {
        let more = count.wrapping_sub(self.filtered_seen());
        self.filtered += u64::from(more);
        more.into()
    }

    /// What its latest event was, if that was kept out.
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

    fn is_its_occupant(&self, station: &Station) -> bool {
        let identity = station.identity();
        self.is_ours() && identity.is_some_and(|it| !self.is_new(&it))
    }
}
