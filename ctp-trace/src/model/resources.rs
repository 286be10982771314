//! What is closed, who waits for that, and how long others took to go on after such a closing.

pub(super) mod closings;
pub(super) mod habits;
pub(super) mod joins;

use std::collections::BTreeMap;

use super::coroutine::Coroutine;
use crate::record::{CoroutineId, Event, Nanos, ProcessId, SiteId};
use closings::{Closing, Closings, Resource};
use habits::Habits;
use joins::Joins;

/// Closings, with coroutines that end as what those are to the ones that join them.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    closings: Closings,
    joins: Joins,
    habits: Habits,
}

impl Resources {
    /// Those that wait for this wait for what has come.
    pub(super) fn close(&mut self, it: Resource, closing: Closing, coroutines: &[Coroutine]) {
        self.closings.note(it, closing, coroutines);
        self.habits.closed(it, &closing);
    }

    /// A coroutine with this id was born.
    pub(super) fn note_birth(&mut self, process: ProcessId, probe_id: u64) {
        self.joins.born(process, probe_id);
    }

    /// This wait of a coroutine is over.
    #[inline]
    pub(super) fn end_wait(&mut self, process: ProcessId, suspend: &Event, at: Nanos) {
        self.habits.over(process, suspend, at);
    }

    /// The next event of a coroutine. Returns the end that is to be closed, if one is.
    #[inline]
    pub(super) fn note_event(
        &mut self,
        one: &Coroutine,
        event: &Event,
    ) -> Option<(Resource, Closing)> {
        self.joins.event(one, event)
    }

    /// What each coroutine that waits lost, with the index of its suspend.
    pub(super) fn lost(&self, coroutines: &[Coroutine]) -> BTreeMap<CoroutineId, (u64, Closing)> {
        self.closings.lost(coroutines)
    }

    /// The longest that any coroutine went on waiting there, or after a closing there.
    pub(super) fn longest_after(&self, waits_at: SiteId, closed_at: SiteId) -> Nanos {
        self.habits.longest(waits_at, closed_at)
    }
}
