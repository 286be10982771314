//! What is known of all memories together, also of those that were given up.

use ctp_nostd::inspect::Counters;
use ctp_nostd::request::Asked;

use super::{Held, Memories};
use crate::harvest::Totals;

/// What is known of some memories together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) totals: Totals,
    counters: Counters,
    /// Memories in which somebody wrote where nobody should.
    damaged: u32,
    /// Coroutines of which another probe than ours tells.
    foreign: u32,
    /// Memories of which their process made no use.
    untaken: u32,
}

impl Account {
    fn add(&mut self, held: &Held) {
        let totals = held.harvest.totals();
        self.totals += totals;
        self.foreign += held.foreign();
        self.untaken += u32::from(held.is_untaken());
        let refused = &mut self.counters.refused;
        *refused = refused.saturating_add(totals.refused);
        match held.memory.region().is_intact() {
            true => self.counters += held.header().counters(),
            false => self.damaged += 1,
        }
    }

    /// Adds a memory whose process has ended. Forks of that process may still count themselves there, so
    /// that these are counted as long as the header is kept: see [`Memories::unreached_later`].
    pub(super) fn add_left(&mut self, held: &Held) {
        let unreached = self.counters.unreached;
        self.add(held);
        self.counters.unreached = unreached;
    }
}

impl Held {
    /// Has the process to which this memory was granted neither attached nor, as a probe may that takes no
    /// row, done anything there? Another one may share the first memory, and is recorded.
    fn is_untaken(&self) -> bool {
        let region = self.memory.region();
        let is_attached = region
            .attaches
            .first()
            .is_some_and(|row| row.pid().is_some());
        let is_used = !region.allocated().is_empty() || region.used_rings().next().is_some();
        self.asked == Some(Asked::Own) && region.is_intact() && !is_attached && !is_used
    }
}

impl Memories {
    /// Counters of all of them, also of those that were given up. Whoever was left out here counts like
    /// who found no station.
    pub fn counters(&self) -> Counters {
        let mut counters = self.account().counters;
        counters.unreached = counters.unreached.saturating_add(self.unreached_later());
        counters
    }

    /// Forks of processes that have ended which could not reach the recorder.
    fn unreached_later(&self) -> u32 {
        let left = self.left.iter().map(|look| look.memory.region());
        let intact = left.filter(|region| region.is_intact());
        let unreached = intact.map(|region| region.header.counters().unreached);
        unreached.fold(self.orphans.unreached(), u32::saturating_add)
    }

    /// How many of them somebody has damaged. Their counters are not counted.
    pub fn damaged(&self) -> u32 {
        self.account().damaged
    }

    /// Coroutines of which another probe than ours tells, as far as that is known.
    pub fn foreign(&self) -> u32 {
        self.account().foreign
    }

    /// Processes that got memory, and ended before they could use it.
    pub fn untaken(&self) -> u32 {
        self.account().untaken
    }

    pub(super) fn account(&self) -> Account {
        let mut account = self.gone;
        self.held.iter().for_each(|held| account.add(held));
        account
    }
}
