//! What a pass does first, and what it puts off, while lanes bring more than it can take at once.

use ctp_nostd::Region;

use super::{Harvest, Pass};

/// While lanes have more to give, stations are looked at once for so many records each.
const RECORDS_A_STATION: u64 = 16;

/// What lanes have given since all stations were looked at.
#[derive(Debug, Default)]
pub(super) struct SinceLook {
    records: u64,
    /// Records for which lanes had no room until that look.
    crowded_out: u64,
}

impl SinceLook {
    fn now(crowded_out: u64) -> Self {
        SinceLook {
            records: 0,
            crowded_out,
        }
    }

    /// So many records more.
    pub fn add(&mut self, records: u64) {
        self.records = self.records.saturating_add(records);
    }

    /// The next pass looks at all stations.
    fn force(&mut self) {
        self.records = u64::MAX;
    }
}

impl Harvest {
    /// Has every thread a lane?
    fn is_all_in_lanes(&self, region: &Region<'_>) -> bool {
        region.header.counters().laneless == 0 && !self.cells.has_plain()
    }

    /// Empties the stations of those whose death came out of a lane: new coroutines may wait for them,
    /// and the next look at all stations may be far.
    pub(super) fn clear_out(&mut self, pass: &mut Pass<'_>) {
        for index in self.cells.take_ended() {
            self.drain(index as usize, pass);
        }
    }

    /// The next pass puts nothing off: somebody may have begun what no lane tells.
    pub(crate) fn wants_to_look_at_all(&mut self) {
        self.since_look.force();
    }

    /// Drains the stations of v1 peers, and those that have something new.
    pub(super) fn look_at_all(&mut self, pass: &mut Pass<'_>) {
        self.since_look = SinceLook::now(self.lanes.crowded_out());
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
            match self.sums_up(index) {
                true => self.glance(index, pass),
                false => self.drain(index, pass),
            }
        }
    }

    /// Lanes have more to give at once. A look at all stations takes as long as many records do, and finds
    /// little that lanes do not tell, unless a filter keeps deaths out: who looked each time would be ever
    /// later the more stations there are.
    pub(super) fn can_look_later(&self, region: &Region<'_>) -> bool {
        let many = RECORDS_A_STATION * self.cells.len() as u64;
        let is_told = !self.is_controlled && self.is_all_in_lanes(region);
        self.since_look.records < many && is_told && !self.may_want_for_stations(region)
    }

    /// Lanes were full since all stations were looked at: who left then may not have told, and there are not
    /// many stations left.
    fn may_want_for_stations(&self, region: &Region<'_>) -> bool {
        self.lanes.crowded_out() != self.since_look.crowded_out
            && region.left() < region.stations.len() / 2
    }
}
