//! [`StationCells`]: what the recorder remembers of all stations of a region, and which of them it must visit again.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::cell::StationCell;

/// The cell of each station, and the stations that need another visit.
#[derive(Debug, Default)]
pub(super) struct StationCells {
    cells: Vec<StationCell>,
    /// The `event_head` of each station at its last visit. These values are kept apart from the cells, so that a scan of idle
    /// stations reads less memory.
    heads: Vec<u64>,
    /// Stations of which it is not known yet which probe writes them.
    unidentified: VecDeque<u32>,
    /// Stations of v1 peers, which keep no `event_head`.
    v1_stations: Vec<u32>,
    /// Stations of coroutines that ended, as reported by lanes since the last `take_ended`.
    ended: Vec<u32>,
}

impl StationCells {
    /// Creates the cells of an image, in which all coroutines are known.
    pub fn of_image(cells: Vec<StationCell>) -> Self {
        StationCells {
            heads: vec![0; cells.len()],
            cells,
            ..StationCells::default()
        }
    }

    /// Adds cells for new stations, so that there are at least this many.
    pub fn discover(&mut self, stations: usize) {
        let known = self.heads.len();
        self.unidentified.extend(known as u32..stations as u32);
        self.heads.resize(stations.max(known), 0);
        self.cells
            .resize_with(stations.max(known), StationCell::default);
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    pub fn get(&self, index: usize) -> Option<&StationCell> {
        self.cells.get(index)
    }

    pub fn iter(&self) -> impl Iterator<Item = &StationCell> {
        self.cells.iter()
    }

    pub fn as_mut_slice(&mut self) -> &mut [StationCell] {
        &mut self.cells
    }

    /// The head of a station at its last visit.
    #[inline]
    pub fn head(&self, index: usize) -> u64 {
        self.heads[index]
    }

    /// Notes a visit to a station when its head was `head`.
    pub fn set_head(&mut self, index: usize, head: u64) {
        self.heads[index] = head;
    }

    /// The number of stations with an unknown writer.
    pub fn unidentified(&self) -> usize {
        self.unidentified.len()
    }

    /// Removes and returns the first station with an unknown writer.
    pub fn next_unidentified(&mut self) -> Option<u32> {
        self.unidentified.pop_front()
    }

    /// Puts back a station if its writer is still unknown.
    pub fn put_back_unidentified(&mut self, index: u32) {
        self.unidentified.push_back(index);
    }

    /// Notes that a v1 peer writes this station.
    pub fn note_v1_peer(&mut self, index: u32) {
        self.v1_stations.push(index);
    }

    /// Forgets stations of v1 peers that have another writer by now.
    pub fn retain_v1_peers(&mut self) {
        let cells = &self.cells;
        self.v1_stations
            .retain(|&index| cells[index as usize].v1_dialect.is_some());
    }

    /// The station of the v1 peer with this number, from 0. `None` after the last.
    pub fn v1_station(&self, number: usize) -> Option<usize> {
        self.v1_stations.get(number).map(|index| *index as usize)
    }

    pub fn has_v1_peers(&self) -> bool {
        !self.v1_stations.is_empty()
    }

    /// Notes that a lane reported the death of this station's coroutine.
    pub fn note_ended(&mut self, index: usize) {
        self.ended.push(index as u32);
    }

    /// Returns the stations of coroutines that ended, as reported by lanes since the last call.
    pub fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }
}

impl Index<usize> for StationCells {
    type Output = StationCell;

    #[inline]
    fn index(&self, index: usize) -> &StationCell {
        &self.cells[index]
    }
}

impl IndexMut<usize> for StationCells {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut StationCell {
        &mut self.cells[index]
    }
}
