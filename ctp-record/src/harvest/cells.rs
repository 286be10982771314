//! The reader's memory of all stations of a region.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::cell::Cell;

/// What is remembered of each station, and which stations need another look.
#[derive(Debug, Default)]
pub(super) struct Cells {
    cells: Vec<Cell>,
    /// `event_head` of each station at its last visit: all that a pass over idle stations reads.
    heads: Vec<u64>,
    /// Stations whose writer is not known yet.
    unsettled: VecDeque<u32>,
    /// Stations of v1 peers, which keep no `event_head`.
    plain: Vec<u32>,
    /// Stations of which lanes have reported the death since these were last taken.
    ended: Vec<u32>,
}

impl Cells {
    /// Of an image, in which all coroutines are known.
    pub fn of_image(cells: Vec<Cell>) -> Self {
        Cells {
            heads: vec![0; cells.len()],
            cells,
            ..Cells::default()
        }
    }

    /// There are as many stations as this, unless more were known before.
    pub fn discover(&mut self, stations: usize) {
        let known = self.heads.len();
        self.unsettled.extend(known as u32..stations as u32);
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

    /// The station was visited when its head was this.
    pub fn set_head(&mut self, index: usize, head: u64) {
        self.heads[index] = head;
    }

    /// How many stations have a writer that is not known yet.
    pub fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// The first station whose writer is not known yet. It is now the caller's to find out.
    pub fn next_unsettled(&mut self) -> Option<u32> {
        self.unsettled.pop_front()
    }

    /// The writer of this station is still not known.
    pub fn put_back_unsettled(&mut self, index: u32) {
        self.unsettled.push_back(index);
    }

    /// A v1 peer writes this station.
    pub fn note_plain(&mut self, index: u32) {
        self.plain.push(index);
    }

    /// Forgets stations of v1 peers that others write by now.
    pub fn retain_plain(&mut self) {
        let cells = &self.cells;
        self.plain
            .retain(|&index| cells[index as usize].plain.is_some());
    }

    /// The stations of v1 peers by number: nothing behind the last one.
    pub fn plain(&self, number: usize) -> Option<usize> {
        self.plain.get(number).map(|index| *index as usize)
    }

    pub fn has_plain(&self) -> bool {
        !self.plain.is_empty()
    }

    /// A lane reported the death of this station's coroutine.
    pub fn note_ended(&mut self, index: usize) {
        self.ended.push(index as u32);
    }

    /// Stations of which lanes have reported the death since this was last asked.
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
