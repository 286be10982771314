//! Counts of what was found in a memory, or in several.

use std::ops::AddAssign;

/// Counts of what was found in all passes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events that became records.
    pub events: u64,
    /// Events that were overwritten before they could be read.
    pub lost: u64,
    /// Events that are only part of totals, as requested.
    pub summed_up: u64,
    /// Events with an impossible content or time, which were left out.
    pub quarantined: u64,
    /// Coroutines that have a number in the trace.
    pub coroutines: u32,
    /// Coroutines that ended in a run of their own, so that they cannot be stuck. 0 if events may have been
    /// excluded. The other coroutines live, or were dropped while they waited.
    pub finished: u32,
    /// Coroutines of v1 peers.
    pub v1_coroutines: u32,
    /// Coroutines that were left out because the trace had no number left.
    pub refused: u32,
    /// Waits at sites without a number, because the trace has too many sites.
    pub unnamed: u64,
    /// Coroutines with counts that cannot be trusted, of those that have ended or were read at the end.
    pub doubtful: u32,
    /// Lanes that threads have used.
    pub lanes: u32,
    /// Events that found their thread's lane full.
    pub crowded_out: u64,
    /// Lanes that were overwritten by a fault and are not read any more.
    pub damaged_lanes: u32,
    /// Events that were excluded on purpose.
    pub filtered: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.lost = self.lost.saturating_add(other.lost);
        self.summed_up = self.summed_up.saturating_add(other.summed_up);
        self.quarantined += other.quarantined;
        self.coroutines += other.coroutines;
        self.finished += other.finished;
        self.v1_coroutines += other.v1_coroutines;
        self.refused = self.refused.saturating_add(other.refused);
        self.unnamed += other.unnamed;
        self.doubtful += other.doubtful;
        self.lanes += other.lanes;
        self.crowded_out += other.crowded_out;
        self.damaged_lanes += other.damaged_lanes;
        self.filtered = self.filtered.saturating_add(other.filtered);
    }
}
