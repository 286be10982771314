//! Waits for descriptors in all memories, some at a time.

use std::time::Duration;

use super::Memories;
use crate::harvest::DescriptorWait;
use crate::memory::clock::monotonic_ns;

/// A station: which memory of those that are held, and which of its stations.
pub type StationPlace = (usize, usize);

impl Memories {
    /// The wait of this station's coroutine, if it is one for a descriptor and has lasted so long.
    pub fn descriptor_wait(&self, place: StationPlace, long: Duration) -> Option<DescriptorWait> {
        let before_ns = monotonic_ns().saturating_sub(long.as_nanos() as u64);
        let held = self.held.get(place.0)?;
        let region = held.memory.region();
        let before_ns = held.harvest.program_time(before_ns);
        held.harvest.descriptor_wait(place.1, &region, before_ns)
    }

    /// Up to `most` such waits of the `scanned` stations that come after those of the latest call.
    pub fn next_descriptor_waits(
        &self,
        cursor: &mut StationPlace,
        scanned: usize,
        most: usize,
        long: Duration,
    ) -> Vec<(StationPlace, DescriptorWait)> {
        let mut waits = Vec::new();
        for _ in 0..scanned.min(self.stations()) {
            let place = self.next_station(cursor);
            waits.extend(self.descriptor_wait(place, long).map(|wait| (place, wait)));
            if waits.len() == most {
                break;
            }
        }
        waits
    }

    fn stations(&self) -> usize {
        let of = |held: &super::Held| held.memory.region().allocated().len();
        self.held.iter().map(of).sum()
    }

    /// The station at the cursor, which goes one on, from the last one to the first.
    fn next_station(&self, cursor: &mut StationPlace) -> StationPlace {
        let length = |memory: usize| {
            let held = self.held.get(memory);
            held.map_or(0, |held| held.memory.region().allocated().len())
        };
        for _ in 0..=self.held.len() {
            if cursor.1 < length(cursor.0) {
                break;
            }
            *cursor = ((cursor.0 + 1) % self.held.len().max(1), 0);
        }
        let place = *cursor;
        cursor.1 += 1;
        place
    }
}
