//! Decides when a pass scans all stations, and defers the scan while lanes report all events anyway.

use ctp_nostd::Region;

use super::lanes::Lanes;
use super::{Harvest, Pass};

/// While lanes have more records, all stations are scanned each time lanes have brought this many records per
/// station.
const RECORDS_PER_STATION: u64 = 16;

/// While lanes report all events, the pause from one scan of all stations to the next, for each station. A station that
/// is not in the processor's cache takes up to 200 ns, so scans take at most 0.1 % of a processor.
const PAUSE_PER_STATION_NS: u64 = 200_000;

/// What lanes have brought since the last scan of all stations.
#[derive(Debug, Default)]
pub(super) struct SinceFullScan {
    /// The time of that scan; 0 before the first.
    at_ns: u64,
    records: u64,
    /// Records that had found no room in a lane by that scan.
    crowded_out: u64,
    /// Stations with events that lanes had not brought by that scan. The next passes visit them.
    behind: Vec<usize>,
}

/// With more stations that are behind, the next pass scans all stations.
const MAX_BEHIND: usize = 64;

impl SinceFullScan {
    fn new(now_ns: u64, crowded_out: u64) -> Self {
        SinceFullScan {
            at_ns: now_ns,
            crowded_out,
            ..SinceFullScan::default()
        }
    }

    /// Adds a station with events that lanes have not brought.
    fn add_behind(&mut self, index: usize) {
        if self.behind.len() < MAX_BEHIND {
            self.behind.push(index);
        } else {
            self.expect_another();
        }
    }

    /// Lets the next pass with time for it scan all stations.
    fn expect_another(&mut self) {
        self.at_ns = 0;
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
        region.header.counters().laneless == 0 && !self.cells.has_v1_peers()
    }

    /// Whether a program has ever used a station or a lane.
    pub(crate) fn was_used(region: &Region<'_>) -> bool {
        !region.allocated().is_empty() || Lanes::are_used(region)
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

    /// Visits the few stations that must not wait for the next scan of all stations: those of coroutines that ended,
    /// as reported by lanes, because new coroutines may be waiting for a station; and those that were behind.
    pub(super) fn visit_stations(&mut self, pass: &mut Pass<'_>) {
        for index in self.cells.take_ended() {
            self.drain(index as usize, pass);
        }
        let events_before = pass.found.events;
        for index in std::mem::take(&mut self.since_full_scan.behind) {
            self.visit(index, pass);
        }
        self.note_slot_events(events_before, pass);
    }

    /// Drains this station if it has something new, and remembers if it is behind after that.
    fn visit(&mut self, index: usize, pass: &mut Pass<'_>) {
        let station = &pass.region.stations[index];
        if station.event_head() == self.cells.head(index) {
            return;
        }
        self.drain(index, pass);
        if station.event_head() != self.cells.head(index) {
            self.since_full_scan.add_behind(index);
        }
    }

    /// Lets the next pass scan all stations if slots held events that no lane has brought.
    fn note_slot_events(&mut self, events_before: u64, pass: &Pass<'_>) {
        if events_before < pass.found.events {
            self.since_full_scan.expect_another();
        }
    }

    /// Makes the next pass scan all stations, because a coroutine may have begun without a lane record.
    pub(crate) fn request_full_scan(&mut self) {
        self.since_full_scan.request();
    }

    /// Drains the stations of v1 peers and all stations that have something new.
    pub(super) fn scan_stations(&mut self, now_ns: u64, pass: &mut Pass<'_>) {
        self.since_full_scan = SinceFullScan::new(now_ns, self.lanes.crowded_out());
        let mut number = 0;
        while let Some(index) = self.cells.v1_station(number) {
            self.drain(index, pass);
            number += 1;
        }
        let events_before = pass.found.events;
        let stations = &pass.region.stations[..self.cells.len()];
        for (index, station) in stations.iter().enumerate() {
            if station.event_head() == self.cells.head(index) {
                continue;
            }
            if self.records_totals(index) {
                self.note_activity(index, pass);
            } else {
                self.visit(index, pass);
            }
        }
        self.note_slot_events(events_before, pass);
    }

    /// Whether a pass can skip the scan of all stations. Scanning on every pass costs O(stations), and falls behind
    /// while lanes have more records. It finds little that lanes do not report, unless a filter excludes deaths.
    pub(super) fn can_defer_scan(&self, has_more: bool, now_ns: u64, region: &Region<'_>) -> bool {
        let many = RECORDS_PER_STATION * self.cells.len() as u64;
        let lanes_report_all = !self.is_controlled && self.are_all_threads_in_lanes(region);
        self.since_full_scan.records < many
            && lanes_report_all
            && !self.may_run_out_of_stations(region)
            && (has_more || self.was_scanned_recently(now_ns, region))
    }

    /// Whether the last scan of all stations is so recent that the next need not begin, although there is time for it.
    fn was_scanned_recently(&self, now_ns: u64, region: &Region<'_>) -> bool {
        let is_history_drained = self.flight_memory.is_none() && self.summary.is_none();
        let pause_ns = PAUSE_PER_STATION_NS.saturating_mul(self.cells.len() as u64);
        is_history_drained
            && Lanes::are_used(region)
            && self.cells.unidentified() == 0
            && self.lanes.crowded_out() == self.since_full_scan.crowded_out
            && self.since_full_scan.at_ns != 0
            && now_ns < self.since_full_scan.at_ns.saturating_add(pause_ns)
    }

    /// Whether free stations may run out: lanes were full since the last scan, so that deaths may be missing
    /// from them, and fewer than half of the stations are free.
    fn may_run_out_of_stations(&self, region: &Region<'_>) -> bool {
        self.lanes.crowded_out() != self.since_full_scan.crowded_out
            && region.left() < region.stations.len() / 2
    }
}
