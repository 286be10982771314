//! Polls of coroutines with branches whose places have not been examined. The polls are kept until it is
//! known which branches are the same: the recorder examines the places some time after the first such
//! poll.

use std::collections::BTreeMap;

use super::select::PollEnd;
use crate::record::CoroutineId;

/// Maximum number of polls of a coroutine that are kept: for some seconds of a coroutine that is polled
/// a thousand times a second. Reading debug info may take that long on a busy machine.
const MAX_OF_COROUTINE: usize = 4096;

/// Maximum number of polls that are kept.
const MAX_POLLS: usize = 1 << 16;

/// Polls in their order, by coroutine.
#[derive(Clone, Debug, Default)]
pub(super) struct DeferredPolls {
    polls: BTreeMap<CoroutineId, Vec<PollEnd>>,
    count: usize,
}

impl DeferredPolls {
    /// The polls of a coroutine.
    pub fn of(&self, coroutine: CoroutineId) -> &[PollEnd] {
        let polls = self.polls.get(&coroutine).map(Vec::as_slice);
        polls.unwrap_or_default()
    }

    #[inline]
    pub fn has(&self, coroutine: CoroutineId) -> bool {
        !self.polls.is_empty() && self.polls.contains_key(&coroutine)
    }

    /// Adds a poll. Returns whether there is no room for another.
    pub fn add(&mut self, coroutine: CoroutineId, end: PollEnd) -> bool {
        let polls = self.polls.entry(coroutine).or_default();
        polls.push(end);
        self.count += 1;
        MAX_OF_COROUTINE <= polls.len() || MAX_POLLS <= self.count
    }

    /// Removes the polls of a coroutine.
    pub fn take(&mut self, coroutine: CoroutineId) -> Vec<PollEnd> {
        let polls = self.polls.remove(&coroutine).unwrap_or_default();
        self.count -= polls.len();
        polls
    }

    /// The coroutines all of whose polls meet a condition.
    pub fn all_of(&self, mut is_met: impl FnMut(&PollEnd) -> bool) -> Vec<CoroutineId> {
        let polls = self.polls.iter();
        let found = polls.filter(|(_, polls)| polls.iter().all(&mut is_met));
        found.map(|(coroutine, _)| *coroutine).collect()
    }
}
