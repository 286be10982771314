//! The closing account of a coroutine.

use ctp_nostd::Region;
use ctp_nostd::layout::Station;
use ctp_trace::record::{Record, Tally};

use super::cell::Cell;
use super::{Harvest, Pass};

impl Harvest {
    /// Nothing more comes of the coroutine of this station.
    pub(super) fn close(&mut self, index: usize, pass: &mut Pass<'_>) {
        self.count_filtered_of(index, pass);
        let is_summed_up = self.tell_totals_at_last(index, pass);
        if self.flight_memory.is_some()
            && let Some(occupant) = self.occupant_of(index, pass.region)
        {
            pass.sink.take_leave(occupant);
        }
        let station = &pass.region.stations[index];
        let head = self.head_to_read(index, station.event_head());
        let tally = self.tally_of(&self.cells[index], (station, head), pass.region);
        let tally = self.without_later(index, station, tally);
        if tally.wakers.is_some() {
            // The last of them may have woken it since its wakes were told.
            self.tell_wakes(index, station, pass);
        }
        self.write_off(index, &tally, is_summed_up);
        self.totals.doubtful += u32::from(tally.inexact);
        pass.sink.take(Record::Tally(tally));
    }

    /// As it stands by what was read into `cell`, and by a station, of which the head is, or was, this.
    pub(super) fn tally_of(
        &self,
        cell: &Cell,
        (station, head): (&Station, u64),
        region: &Region<'_>,
    ) -> Tally {
        let attempted = cell.attempted(station, head);
        Tally {
            coroutine: cell.coroutine,
            attempted: attempted.unwrap_or(cell.accounted()),
            recorded: cell.recorded,
            torn: cell.torn(station),
            inexact: cell.inexact
                || attempted.is_none()
                || !region.is_intact()
                || self.is_filtered_by_nobody(cell),
            filtered: cell.filtered(),
            hidden: cell.hidden(station),
            wakers: cell.wakers(station),
        }
    }
}
