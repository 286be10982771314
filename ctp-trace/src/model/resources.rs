//! Closed resources, the coroutines that wait for them, and how long waiters usually take to resume
//! after a close.

pub(super) mod closings;
pub(super) mod joins;
pub(super) mod usual_use;

use closings::Closings;
use joins::Joins;
use usual_use::UsualUse;

/// Closes of resources. A coroutine's end counts as a close for the coroutines that await it.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    pub(super) closings: Closings,
    pub(super) joins: Joins,
    pub(super) usual_use: UsualUse,
}
