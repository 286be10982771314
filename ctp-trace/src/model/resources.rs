//! What is closed, who waits for that, and how long others took to go on after such a closing.

pub(super) mod closings;
pub(super) mod joins;
pub(super) mod usual_use;

use closings::Closings;
use joins::Joins;
use usual_use::UsualUse;

/// Closings, with coroutines that end as what those are to the ones that join them.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    pub(super) closings: Closings,
    pub(super) joins: Joins,
    pub(super) usual_use: UsualUse,
}
