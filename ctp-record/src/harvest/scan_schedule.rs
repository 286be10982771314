//! Decides when a pass scans all stations, and defers the scan while lanes have more records than one
//! pass can take.

use ctp_nostd::Region;

use super::lanes::Lanes;
use super::{Harvest, Pass};

/// While lanes have more records, all stations are scanned each time lanes have brought this many records per
/// station.
const RECORDS_PER_STATION: u64 = 16;

/// What lanes have brought since the last scan of all stations.
#[derive(Debug, Default)]
pub(super) struct SinceFullScan {
    records: u64,
    /// Records that had found no room in a lane by that scan.
    crowded_out: u64,
}

impl SinceFullScan {
    fn now(crowded_out: u64) -> Self {
        SinceFullScan {
            records: 0,
            crowded_out,
        }
    }

    /// Adds records that lanes have brought.
    pub fn add(&mut self, records: u64) {
        self.records = self.records.saturating_add(records);
    }

    /// Makes the next pass scan all stations.
    fn request(&mut self) {
        self.records = u64::MAX;
    }
}

impl Harvest {
    /// Whether every thread has a lane, so that lanes report every event.
    fn are_all_threads_in_lanes(&self, region: &Region<'_>) -> bool {
        region.header.counters().laneless == 0 && !self.cells.has_plain()
    }

    /// Whether the memory can be left unread for a short time without a loss: lanes and totals keep all that happens,
    /// and probes ring when lanes fill up or stations become few. A v1 peer has eight slots for each coroutine, and
    /// does not ring.
    pub(crate) fn can_be_left_unread(&self, region: &Region<'_>) -> bool {
        let has_all_events = match self.summary {
            Some(_) => true,
            None => self.flight_memory.is_some() || Lanes::are_used(region),
        };
        has_all_events
            && self.are_all_threads_in_lanes(region)
            && self.cells.unidentified() == 0
            && region.has_many_stations()
    }

    /// Drains the stations of coroutines that ended, as reported by lanes. New coroutines may be waiting for these
    /// stations, and the next scan of all stations may be far away.
    pub(super) fn drain_ended(&mut self, pass: &mut Pass<'_>) {
        for index in self.cells.take_ended() {
            self.drain(index as usize, pass);
        }
    }

    /// Makes the next pass scan all stations, because a coroutine may have begun without a lane record.
    pub(crate) fn request_full_scan(&mut self) {
        self.since_full_scan.request();
    }

    /// Drains the stations of v1 peers and all stations that have something new.
    pub(super) fn scan_stations(&mut self, pass: &mut Pass<'_>) {
        self.since_full_scan = SinceFullScan::now(self.lanes.crowded_out());
        let mut number = 0;
        while let Some(index) = self.cells.plain(number) {
            self.drain(index, pass);
            number += 1;
        }
        let stations = &pass.region.stations[..self.cells.len()];
        for (index, station) in stations.iter().enumerate() {
            if station.event_head() == self.cells.head(index) {
                continue;
            }
            if self.records_totals(index) {
                self.note_activity(index, pass);
            } else {
                self.drain(index, pass);
            }
        }
    }

    /// Whether a pass can skip the scan of all stations while lanes have more records. Scanning on every pass
    /// costs O(stations) and falls behind. It finds little that lanes do not report, unless a filter excludes
    /// deaths.
    pub(super) fn can_defer_scan(&self, region: &Region<'_>) -> bool {
        let many = RECORDS_PER_STATION * self.cells.len() as u64;
        let lanes_report_all = !self.is_controlled && self.are_all_threads_in_lanes(region);
        self.since_full_scan.records < many
            && lanes_report_all
            && !self.may_run_out_of_stations(region)
    }

    /// Whether free stations may run out: lanes were full since the last scan, so that deaths may be missing
    /// from them, and fewer than half of the stations are free.
    fn may_run_out_of_stations(&self, region: &Region<'_>) -> bool {
        self.lanes.crowded_out() != self.since_full_scan.crowded_out
            && region.left() < region.stations.len() / 2
    }
}
