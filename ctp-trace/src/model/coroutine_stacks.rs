//! The call stacks of coroutines that wait on stacks of their own.

use std::collections::BTreeMap;

use super::TraceModel;
use super::coroutine::Coroutine;
use crate::record::{CoroutineId, CoroutineStack};

/// The latest call stack of each coroutine.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestStacks {
    stacks: BTreeMap<CoroutineId, CoroutineStack>,
}

impl LatestStacks {
    pub(super) fn note(&mut self, stack: &CoroutineStack) {
        self.stacks.insert(stack.coroutine, stack.clone());
    }

    pub(super) fn forget(&mut self, id: CoroutineId) {
        self.stacks.remove(&id);
    }
}

impl TraceModel {
    /// The call stack of a coroutine in its present wait. `None` if the coroutine does not wait, or its
    /// stack was read in an earlier wait or not at all.
    pub fn coroutine_stack(&self, coroutine: &Coroutine) -> Option<&CoroutineStack> {
        let wait = coroutine.suspend()?;
        let stack = self.stacks.stacks.get(&coroutine.id)?;
        (stack.since == wait.at).then_some(stack)
    }

    /// The coroutines that wait with a known call stack, by id.
    pub fn coroutine_stacks(&self) -> impl Iterator<Item = (&Coroutine, &CoroutineStack)> {
        let stacks = self.stacks.stacks.keys();
        let waiting = stacks.filter_map(|id| self.get(*id));
        waiting.filter_map(|coroutine| Some((coroutine, self.coroutine_stack(coroutine)?)))
    }
}
