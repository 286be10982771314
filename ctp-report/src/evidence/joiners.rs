//! The coroutines that probably wait for the end of a stuck coroutine: its parent, if the parent waits for
//! the end of a task that it did not name.

use std::collections::BTreeSet;

use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::LeafKind;

/// The ids of the parents of these coroutines. Only parents that are alive and wait for the end of
/// a task count.
pub fn of<'c>(
    trace_model: &TraceModel,
    coroutines: impl Iterator<Item = &'c Coroutine>,
) -> Vec<u32> {
    let parents: BTreeSet<u32> = coroutines
        .filter_map(|coroutine| coroutine.parent)
        .map(|parent| parent.id)
        .filter(|id| {
            trace_model.get(*id).is_some_and(|parent| {
                parent.is_alive() && trace_model.leaf_kind(parent) == LeafKind::Task
            })
        })
        .map(|id| id.0)
        .collect();
    parents.into_iter().collect()
}
