//! Finds long waits for descriptors, long waits on stacks, and long runs in all memories, by scanning some stations at a time.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::MemorySet;
use super::held_memory::HeldMemory;
use crate::harvest::{DescriptorWait, LongRun, StackWait};
use crate::memory::clock::monotonic_ns;
use crate::memory::shm::Memory;

/// A station: the index of its memory among those held, and its index there.
pub type StationPlace = (usize, usize);

/// The time `long` ago, on the monotonic clock of the recorder.
pub fn time_before(long: Duration) -> u64 {
    monotonic_ns().saturating_sub(long.as_nanos() as u64)
}

/// In these functions, `since_ns` is a time on the monotonic clock of the recorder, as of [`time_before`].
/// Scans call them for each station, so the clock is read once for a scan.
impl MemorySet {
    /// The wait of this station's coroutine, if it has waited for a descriptor at least since `since_ns`.
    pub fn descriptor_wait(&self, station: StationPlace, since_ns: u64) -> Option<DescriptorWait> {
        let (held, since_ns) = self.held_at(station, since_ns)?;
        if !held.harvest.may_wait_for_descriptor(station.1) {
            return None;
        }
        let region = held.memory.region();
        held.harvest.descriptor_wait(station.1, &region, since_ns)
    }

    /// The run of this station's coroutine, if it has run at least since `since_ns`.
    pub fn long_run(&self, station: StationPlace, since_ns: u64) -> Option<LongRun> {
        let (held, since_ns) = self.held_at(station, since_ns)?;
        if !held.harvest.may_run(station.1) {
            return None;
        }
        let region = held.memory.region();
        held.harvest.long_run(station.1, &region, since_ns)
    }

    /// The wait of this station's coroutine, if it has waited on a stack of its own at least since `since_ns`.
    /// Also returns the memory of the station.
    pub fn stack_wait(
        &self,
        station: StationPlace,
        since_ns: u64,
    ) -> Option<(Weak<Memory>, StackWait)> {
        let (held, since_ns) = self.held_at(station, since_ns)?;
        let region = held.memory.region();
        let wait = held.harvest.stack_wait(station.1, &region, since_ns)?;
        Some((Arc::downgrade(&held.memory), wait))
    }

    /// The memory of a station, and `since_ns` on the clock of the memory's programs.
    fn held_at(&self, station: StationPlace, since_ns: u64) -> Option<(&HeldMemory, u64)> {
        let held = self.held.get(station.0)?;
        Some((held, held.harvest.program_time(since_ns)))
    }

    /// Scans the next `scanned` stations after those of the latest call with this cursor. Returns up to
    /// `most` results of `find`.
    pub fn next_found<T>(
        &self,
        cursor: &mut StationPlace,
        scanned: usize,
        most: usize,
        find: impl Fn(StationPlace) -> Option<T>,
    ) -> Vec<(StationPlace, T)> {
        self.next_stations(cursor, scanned)
            .filter_map(|station| Some((station, find(station)?)))
            .take(most)
            .collect()
    }

    /// The next `count` stations, but none twice. Each advances the cursor.
    fn next_stations(
        &self,
        cursor: &mut StationPlace,
        count: usize,
    ) -> impl Iterator<Item = StationPlace> {
        let stations = self.held.iter().map(HeldMemory::stations).sum();
        (0..count.min(stations)).map(|_| self.next_station(cursor))
    }

    /// The station at the cursor. Advances the cursor, from the last station to the first.
    fn next_station(&self, cursor: &mut StationPlace) -> StationPlace {
        for _ in 0..=self.held.len() {
            let stations = self.held.get(cursor.0).map_or(0, HeldMemory::stations);
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
