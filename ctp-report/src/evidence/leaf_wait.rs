//! What a coroutine without an announced wait waits for, according to its leaf futures.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::{CoroutineId, LeafKind};
use serde::{Serialize, Serializer};

use crate::evidence::is_default;
use crate::text;

/// The living coroutines that each coroutine spawned.
#[derive(Clone, Debug, Default)]
pub struct Children(BTreeMap<CoroutineId, Vec<CoroutineId>>);

/// What the leaf futures of a group wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeafWait {
    /// The kind, known from the function of the leaf future.
    #[serde(serialize_with = "word")]
    pub kind: LeafKind,
    /// For the end of a task: the living coroutines that the waiting coroutines spawned. The task is
    /// probably one of these.
    #[serde(skip_serializing_if = "is_default")]
    pub children: BTreeSet<u32>,
}

impl Children {
    /// The children of all coroutines that are alive.
    pub fn of(trace_model: &TraceModel) -> Self {
        let mut children: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let living = trace_model.coroutines().into_iter();
        for coroutine in living.filter(|coroutine| coroutine.is_alive()) {
            if let Some(parent) = coroutine.parent {
                children.entry(parent.id).or_default().push(coroutine.id);
            }
        }
        Children(children)
    }

    fn of_coroutine(&self, id: CoroutineId) -> &[CoroutineId] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }
}

impl LeafWait {
    /// What the coroutines in `all`, which wait at the same place, wait for. `None` if the kind is
    /// unknown.
    pub fn of<'c>(
        trace_model: &TraceModel,
        children: &Children,
        oldest: &Coroutine,
        all: impl Iterator<Item = &'c Coroutine>,
    ) -> Option<Self> {
        let kind = trace_model.leaf_kind(oldest);
        let known = all.flat_map(|coroutine| children.of_coroutine(coroutine.id));
        let children = match kind {
            LeafKind::Unknown => return None,
            LeafKind::Task => known.map(|id| id.0).collect(),
            _ => BTreeSet::new(),
        };
        Some(LeafWait { kind, children })
    }

    /// Formats `the end of a task, probably of a child: id 7, 9`.
    pub fn describe(&self) -> String {
        let what = phrase(self.kind);
        let children: Vec<u32> = self.children.iter().copied().collect();
        if children.is_empty() {
            what.to_owned()
        } else {
            format!("{what}, probably of a child: id {}", text::few(&children))
        }
    }
}

/// The words for a kind on pages.
pub fn phrase(kind: LeafKind) -> &'static str {
    match kind {
        LeafKind::Io => "input of a descriptor",
        LeafKind::Output => "room for output of a descriptor",
        LeafKind::Timer => "a timer",
        LeafKind::Lock => "a lock",
        LeafKind::Semaphore => "permits of a semaphore",
        LeafKind::Room => "room in a channel",
        LeafKind::Message => "a message",
        LeafKind::Reply => "a reply",
        LeafKind::Notification => "a notification",
        LeafKind::Task => "the end of a task",
        LeafKind::TimeOrMessage => "a time or a message",
        LeafKind::SharedFunction => "a lock, a channel or a notification",
        _ => "something it did not name",
    }
}

fn word<S: Serializer>(kind: &LeafKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-13
    #[test]
    fn children_are_named_for_the_end_of_a_task() {
        let wait = |kind, children: &[u32]| LeafWait {
            kind,
            children: children.iter().copied().collect(),
        };
        let task = wait(LeafKind::Task, &[7, 9]);
        assert_eq!(
            task.describe(),
            "the end of a task, probably of a child: id 7, 9"
        );
        assert_eq!(wait(LeafKind::Task, &[]).describe(), "the end of a task");
        assert_eq!(wait(LeafKind::Room, &[]).describe(), "room in a channel");
    }
}
