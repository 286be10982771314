//! What was found in a memory, or in several.

use std::ops::AddAssign;

/// What was found so far, in all passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events that became records.
    pub events: u64,
    /// Events that were gone before they could be read.
    pub lost: u64,
    /// Events of which only totals tell, as they were to.
    pub summed_up: u64,
    /// Events that made no sense and were left out.
    pub quarantined: u64,
    /// Coroutines that have a number in the trace.
    pub coroutines: u32,
    /// Coroutines of plain v1 peers.
    pub plain: u32,
    /// Coroutines that were left out since the trace had no number for them.
    pub refused: u32,
    /// Waits whose site found no room.
    pub unnamed: u64,
    /// Coroutines that are over, or were at the end, and of which the counts cannot be trusted.
    pub doubtful: u32,
    /// Lanes that threads have had.
    pub lanes: u32,
    /// Events that found their thread's lane full.
    pub crowded_out: u64,
    /// Lanes that somebody has overwritten, so that they are not read any more.
    pub damaged_lanes: u32,
    /// Events that were kept out on purpose.
    pub filtered: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.lost = self.lost.saturating_add(other.lost);
        self.summed_up = self.summed_up.saturating_add(other.summed_up);
        self.quarantined += other.quarantined;
        self.coroutines += other.coroutines;
        self.plain += other.plain;
        self.refused = self.refused.saturating_add(other.refused);
        self.unnamed += other.unnamed;
        self.doubtful += other.doubtful;
        self.lanes += other.lanes;
        self.crowded_out += other.crowded_out;
        self.damaged_lanes += other.damaged_lanes;
        self.filtered = self.filtered.saturating_add(other.filtered);
    }
}
