//! What is closed, who waits for that, and how long others took to go on after such a closing.

pub(super) mod closings;
pub(super) mod habits;
pub(super) mod joins;

use closings::Closings;
use habits::Habits;
use joins::Joins;

/// Closings, with coroutines that end as what those are to the ones that join them.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    pub(super) closings: Closings,
    pub(super) joins: Joins,
    pub(super) habits: Habits,
}
