//! The closing account of a coroutine: how many events it had, and how many were recorded or lost.

use ctp_nostd::Region;
use ctp_nostd::layout::Station;
use ctp_trace::record::{EventCounts, Record};

use super::cell::StationCell;
use super::{Harvest, Pass};

impl Harvest {
    /// Closes the account of a station's coroutine, which has no more events.
    pub(super) fn close(&mut self, index: usize, pass: &mut Pass<'_>) {
        self.count_filtered_of(index, pass);
        let is_summed_up = self.emit_final_totals(index, pass);
        if self.flight_memory.is_some()
            && let Some(coroutine) = self.station_coroutine(index, pass.region)
        {
            pass.sink.take_departed(coroutine);
        }
        let station = &pass.region.stations[index];
        let head = self.head_to_read(index, station.event_head());
        let event_counts = self.event_counts_of(&self.cells[index], (station, head), pass.region);
        let event_counts = self.without_changes_after_stop(index, station, event_counts);
        if event_counts.wakers.is_some() {
            // The last waker may have been called after the coroutine's wakes were recorded.
            self.emit_wakes(index, station, pass);
        }
        self.write_off(index, &event_counts, is_summed_up);
        self.totals.doubtful += u32::from(event_counts.inexact);
        pass.sink.take(Record::EventCounts(event_counts));
    }

    /// The account so far, from what was read into `cell` and from its station's words. `head` is the present
    /// or an earlier value of the station's head.
    pub(super) fn event_counts_of(
        &self,
        cell: &StationCell,
        (station, head): (&Station, u64),
        region: &Region<'_>,
    ) -> EventCounts {
        let attempted = cell.attempted(station, head);
        EventCounts {
            coroutine: cell.coroutine,
            attempted: attempted.unwrap_or(cell.accounted()),
            recorded: cell.recorded,
            torn: cell.torn(station),
            inexact: cell.inexact
                || attempted.is_none()
                || !region.is_intact()
                || self.has_unexplained_filtering(cell),
            filtered: cell.filtered(),
            hidden: cell.hidden(station),
            wakers: cell.wakers(station),
        }
    }
}
