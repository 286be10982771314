//! Counts over all memories, including those that were given up.

use ctp_nostd::inspect::Counters;
use ctp_nostd::request::MemoryRequest;

use super::MemorySet;
use super::held_memory::HeldMemory;
use crate::harvest::Totals;

/// Counts over several memories.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryCounts {
    pub(super) totals: Totals,
    counters: Counters,
    /// Memories with a header that a fault has overwritten.
    damaged: u32,
    /// Coroutines of foreign probes.
    foreign: u32,
    /// Memories that their process never used.
    untaken: u32,
}

impl MemoryCounts {
    fn add(&mut self, held: &HeldMemory) {
        let totals = held.harvest.totals();
        self.totals += totals;
        self.foreign += held.foreign();
        self.untaken += u32::from(held.is_untaken());
        let refused = &mut self.counters.refused;
        *refused = refused.saturating_add(totals.refused);
        if held.memory.region().is_intact() {
            self.counters += held.header().counters();
        } else {
            self.damaged += 1;
        }
    }

    /// Adds a memory whose process has exited. Forks of that process may still count themselves in its header,
    /// so these are counted as long as the header is kept: see [`MemorySet::unreached_later`].
    pub(super) fn add_left(&mut self, held: &HeldMemory) {
        let unreached = self.counters.unreached;
        self.add(held);
        self.counters.unreached = unreached;
    }
}

impl HeldMemory {
    /// Whether the process to which this memory was granted neither attached nor used it. A probe may use a
    /// memory without a row in the table of attached processes. A process that shares the first memory is
    /// recorded there and does not count.
    fn is_untaken(&self) -> bool {
        let region = self.memory.region();
        let is_attached = region
            .attaches
            .first()
            .is_some_and(|row| row.pid().is_some());
        let is_used = !region.allocated().is_empty() || region.used_rings().next().is_some();
        self.requested == Some(MemoryRequest::Own) && region.is_intact() && !is_attached && !is_used
    }
}

impl MemorySet {
    /// The probes' counters over all memories, including those given up. Coroutines that got no number in the
    /// trace count like coroutines that found no station.
    pub fn counters(&self) -> Counters {
        let mut counters = self.account().counters;
        counters.unreached = counters.unreached.saturating_add(self.unreached_later());
        counters
    }

    /// Forks of exited processes that could not reach the recorder.
    fn unreached_later(&self) -> u32 {
        let left = self.left.iter().map(|view| view.memory.region());
        let intact = left.filter(|region| region.is_intact());
        let unreached = intact.map(|region| region.header.counters().unreached);
        unreached.fold(self.orphans.unreached(), u32::saturating_add)
    }

    /// The number of damaged memories. Their counters are not counted.
    pub fn damaged(&self) -> u32 {
        self.account().damaged
    }

    /// Coroutines of foreign probes, as far as known.
    pub fn foreign(&self) -> u32 {
        self.account().foreign
    }

    /// Processes that got a memory and exited before using it.
    pub fn untaken(&self) -> u32 {
        self.account().untaken
    }

    pub(super) fn account(&self) -> MemoryCounts {
        let mut account = self.given_up;
        self.held.iter().for_each(|held| account.add(held));
        account
    }
}
