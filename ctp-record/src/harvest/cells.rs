//! What the reader remembers of all stations of a region.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::cell::Cell;

/// What is remembered of each station, and which stations need another visit.
#[derive(Debug, Default)]
pub(super) struct Cells {
    cells: Vec<Cell>,
    /// `event_head` of each station at its last visit. A scan of idle stations reads only these.
    heads: Vec<u64>,
    /// Stations with a writer that is not known yet.
    unidentified: VecDeque<u32>,
    /// Stations of v1 peers, which keep no `event_head`.
    plain: Vec<u32>,
    /// Stations of coroutines that ended, as reported by lanes since the last `take_ended`.
    ended: Vec<u32>,
}

impl Cells {
    /// Creates the cells of an image, in which all coroutines are known.
    pub fn of_image(cells: Vec<Cell>) -> Self {
        Cells {
            heads: vec![0; cells.len()],
            cells,
            ..Cells::default()
        }
    }

    /// Adds cells for new stations, so that there are at least this many.
    pub fn discover(&mut self, stations: usize) {
        let known = self.heads.len();
        self.unidentified.extend(known as u32..stations as u32);
        self.heads.resize(stations.max(known), 0);
        self.cells.resize_with(stations.max(known), Cell::default);
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    pub fn get(&self, index: usize) -> Option<&Cell> {
        self.cells.get(index)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter()
    }

    pub fn as_mut_slice(&mut self) -> &mut [Cell] {
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
    pub fn note_plain(&mut self, index: u32) {
        self.plain.push(index);
    }

    /// Forgets stations of v1 peers that have another writer by now.
    pub fn retain_plain(&mut self) {
        let cells = &self.cells;
        self.plain
            .retain(|&index| cells[index as usize].plain.is_some());
    }

    /// The station of the v1 peer with this number, or `None` after the last.
    pub fn plain(&self, number: usize) -> Option<usize> {
        self.plain.get(number).map(|index| *index as usize)
    }

    pub fn has_plain(&self) -> bool {
        !self.plain.is_empty()
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

impl Index<usize> for Cells {
    type Output = Cell;

    #[inline]
    fn index(&self, index: usize) -> &Cell {
        &self.cells[index]
    }
}

impl IndexMut<usize> for Cells {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Cell {
        &mut self.cells[index]
    }
}
