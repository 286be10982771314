//! What is closed, who waits for that, and how long others took to go on after such a closing.

pub(super) mod closings;
pub(super) mod habits;
pub(super) mod joins;

use super::coroutine::Coroutine;
use closings::{Closing, Closings, Resource};
use habits::Habits;
use joins::Joins;

/// Closings, with coroutines that end as what those are to the ones that join them.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    pub(super) closings: Closings,
    pub(super) joins: Joins,
    pub(super) habits: Habits,
}

impl Resources {
    /// Those that wait for this wait for what has come.
    pub(super) fn close(&mut self, it: Resource, closing: Closing, coroutines: &[Coroutine]) {
        self.closings.note(it, closing, coroutines);
        self.habits.closed(it, &closing);
    }
}
