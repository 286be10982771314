//! Waits for descriptors in all memories, some at a time.

use std::time::Duration;

use super::{Held, MemorySet};
use crate::harvest::DescriptorWait;
use crate::memory::clock::monotonic_ns;

/// A station: the index of its memory among those held, and its index there.
pub type StationPlace = (usize, usize);

impl MemorySet {
    /// The wait of this station's coroutine, if it has waited for a descriptor for at least `long`.
    pub fn descriptor_wait(&self, station: StationPlace, long: Duration) -> Option<DescriptorWait> {
        let before_ns = monotonic_ns().saturating_sub(long.as_nanos() as u64);
        let held = self.held.get(station.0)?;
        let region = held.memory.region();
        let before_ns = held.harvest.program_time(before_ns);
        held.harvest.descriptor_wait(station.1, &region, before_ns)
    }

    /// Scans the next `scanned` stations after those of the latest call. Returns up to `most` waits.
    pub fn next_descriptor_waits(
        &self,
        cursor: &mut StationPlace,
        scanned: usize,
        most: usize,
        long: Duration,
    ) -> Vec<(StationPlace, DescriptorWait)> {
        let mut waits = Vec::new();
        for _ in 0..scanned.min(self.stations()) {
            let station = self.next_station(cursor);
            waits.extend(
                self.descriptor_wait(station, long)
                    .map(|wait| (station, wait)),
            );
            if waits.len() == most {
                break;
            }
        }
        waits
    }

    fn stations(&self) -> usize {
        self.held.iter().map(Held::stations).sum()
    }

    /// The station at the cursor. Advances the cursor, from the last station to the first.
    fn next_station(&self, cursor: &mut StationPlace) -> StationPlace {
        for _ in 0..=self.held.len() {
            let stations = self.held.get(cursor.0).map_or(0, Held::stations);
            if cursor.1 < stations {
                break;
            }
            *cursor = ((cursor.0 + 1) % self.held.len().max(1), 0);
        }
        let station = *cursor;
        cursor.1 += 1;
        station
    }
}
