//! The coroutine that last woke a waiting coroutine, and its current activity. This often explains why
//! no further wake comes.

use std::collections::BTreeSet;

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, Wake, Waker};
use serde::Serialize;

use crate::evidence::blockers::CurrentActivity;
use crate::load::Model;
use crate::names::Names;

/// The coroutine that last woke a waiting coroutine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastWaker {
    /// The id of the waker.
    pub id: u32,
    /// The name of the waker, even if it has ended.
    pub name: String,
    /// Whether the waker has ended.
    pub has_ended: bool,
    /// The activity of the waker, unless it has ended.
    #[serde(flatten)]
    pub activity: CurrentActivity,
}

impl LastWaker {
    /// Formats `id 7 sender`.
    pub fn subject(&self) -> String {
        format!("id {} {}", self.id, self.name)
            .trim_end()
            .to_owned()
    }
}

/// The last waker, if it was another coroutine. `None` for an unknown coroutine in a damaged trace,
/// because it may not have ended.
pub fn of(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<LastWaker> {
    let (wake, id) = last(coroutine)?;
    let waker = model.trace_model.get(id);
    if waker.is_none() && !model.damage.is_empty() {
        return None;
    }
    let alive = waker.filter(|waker| waker.is_alive());
    let reported = coroutine.wakes.call_of(&wake).map(|call| call.caller);
    let name = waker
        .map(|waker| waker.name)
        .or(reported)
        .unwrap_or_default();
    Some(LastWaker {
        id: id.0,
        name: names
            .called(model.trace_model.name(name))
            .unwrap_or_default(),
        has_ended: alive.is_none(),
        activity: alive.map_or_else(CurrentActivity::default, |coroutine| {
            CurrentActivity::of(model, names, coroutine)
        }),
    })
}

/// The number of coroutines that last woke a coroutine in `all`, without the last waker of
/// `coroutine`.
pub fn others<'c>(coroutine: &Coroutine, all: impl Iterator<Item = &'c Coroutine>) -> usize {
    let all: BTreeSet<CoroutineId> = all.filter_map(last).map(|(_, id)| id).collect();
    all.len() - usize::from(last(coroutine).is_some())
}

fn last(coroutine: &Coroutine) -> Option<(Wake, CoroutineId)> {
    let wake = coroutine.wakes.word.filter(|wake| 0 < wake.count)?;
    match wake.waker {
        Waker::Coroutine(id) if id != coroutine.id => Some((wake, id)),
        _ => None,
    }
}
