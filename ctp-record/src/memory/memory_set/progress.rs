//! How much was read of all memories, how much waits to be read, and up to which time.

use ctp_nostd::aggregate::MODE_FLIGHT;
use ctp_trace::record::Nanos;

use super::MemorySet;
use super::held_memory::{HeldMemory, latest_in};
use crate::harvest::Totals;

/// Bytes that a typical record takes in the backlog.
const BACKLOG_BYTES_PER_RECORD: u64 = 16;

impl MemorySet {
    /// Counts of what was found so far in all memories, including those given up.
    pub fn totals(&self) -> Totals {
        self.account().totals
    }

    /// Time of the latest record, including memories given up.
    pub fn latest(&self) -> Nanos {
        let held = latest_in(&self.held).unwrap_or_default();
        held.max(self.latest_given_up)
    }

    /// Time of the latest event of a coroutine or a thread. Memories that were given up count with their
    /// latest record.
    pub fn latest_event(&self) -> Nanos {
        let held = self.held.iter().map(|held| held.harvest.latest_event());
        held.fold(self.latest_given_up, Nanos::max)
    }

    /// Events so far, including those that became no records.
    pub fn events(&self) -> u64 {
        let given_up = &self.given_up.totals;
        let living = self
            .held
            .iter()
            .map(|held| held.harvest.happened(&held.memory.region()));
        living.fold(
            given_up.events.saturating_add(given_up.summed_up),
            u64::saturating_add,
        )
    }

    /// Records that wait in lanes and in the backlog. A flight recorder's records wait for nothing.
    pub fn waiting_records(&self) -> u64 {
        if self.recording.mode == MODE_FLIGHT {
            return 0;
        }
        let in_lanes: u64 = self.held.iter().map(HeldMemory::unread_records).sum();
        in_lanes.saturating_add(self.backlog.bytes() / BACKLOG_BYTES_PER_RECORD)
    }

    /// Lanes that threads have used, including those that are not drained.
    pub fn lanes(&self) -> u32 {
        match self.recording.mode {
            MODE_FLIGHT => self.held.iter().map(HeldMemory::used_lanes).sum(),
            _ => self.totals().lanes,
        }
    }
}
