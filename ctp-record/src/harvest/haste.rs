//! What a pass does first, and what it puts off, while lanes bring more than it can take at once.

use ctp_nostd::Region;

use super::{Harvest, Pass};

/// While lanes have more to give, stations are looked at once for so many records each.
const RECORDS_A_STATION: u64 = 16;

impl Harvest {
    /// Is nothing lost if the next pass comes late, as long as lanes are drained? Only they hold more
    /// than a few events, and new coroutines need stations.
    pub(crate) fn can_wait(&self, region: &Region<'_>) -> bool {
        let has_stations = region.allocated().len() <= region.stations.len() / 2;
        has_stations && self.is_all_in_lanes(region)
    }

    /// Has every thread a lane?
    fn is_all_in_lanes(&self, region: &Region<'_>) -> bool {
        region.header.counters().laneless == 0 && self.plain.is_empty()
    }

    /// Empties the stations of those whose death came out of a lane: new coroutines may wait for them,
    /// and the next look at all stations may be far.
    pub(super) fn clear_out(&mut self, pass: &mut Pass<'_>) {
        for index in std::mem::take(&mut self.ended) {
            self.drain(index as usize, pass);
        }
    }

    /// The next pass puts nothing off: somebody may have begun what no lane tells.
    pub(crate) fn wants_to_look_at_all(&mut self) {
        self.unseen = u64::MAX;
    }

    /// Drains the stations of v1 peers, and those that have something new.
    pub(super) fn look_at_all(&mut self, pass: &mut Pass<'_>) {
        (self.unseen, self.crowded_out) = (0, self.lanes.crowded_out());
        for index in 0..self.plain.len() {
            self.drain(self.plain[index] as usize, pass);
        }
        let stations = &pass.region.stations[..self.heads.len()];
        for (index, station) in stations.iter().enumerate() {
            if station.event_head() == self.heads[index] {
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
        let many = RECORDS_A_STATION * self.heads.len() as u64;
        let is_told = !self.is_controlled && self.is_all_in_lanes(region);
        self.unseen < many && is_told && !self.may_want_for_stations(region)
    }

    /// Lanes were full since all stations were looked at: who left then may not have told, and there are not
    /// many stations left.
    fn may_want_for_stations(&self, region: &Region<'_>) -> bool {
        self.lanes.crowded_out() != self.crowded_out && region.left() < region.stations.len() / 2
    }
}
