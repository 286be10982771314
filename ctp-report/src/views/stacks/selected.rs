//! The tasks, coroutines and threads of which stacks are shown.

use anyhow::{Result, bail};
use ctp_trace::model::JudgedTask;

use crate::config::filter::Filter;
use crate::evidence::coroutine_stacks::WaitingStack;
use crate::evidence::inspected;
use crate::evidence::inspected::threads::ThreadStack;
use crate::evidence::selection::is_admitted;
use crate::load::Model;
use crate::names::Names;

/// What has a stack.
pub struct Selected<'m> {
    /// The tasks that inspections found.
    pub tasks: Vec<JudgedTask<'m>>,
    /// The coroutines that wait on stacks of their own.
    pub coroutines: Vec<WaitingStack<'m>>,
    /// The threads that inspections found.
    pub threads: Vec<ThreadStack<'m>>,
}

impl Selected<'_> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.tasks.len() + self.coroutines.len() + self.threads.len()
    }

    /// Keeps what a filter admits. A thread is no coroutine, so only `--thread` admits one.
    pub fn filter(&mut self, (model, names): (&Model, &Names), filter: &Filter) {
        inspected::filter(&mut self.tasks, filter);
        if !filter.has_coroutines() {
            return;
        }
        self.coroutines.retain(|stack| {
            let member = (stack.coroutine, stack.judgement);
            is_admitted(model, names, &member, filter)
        });
        self.threads
            .retain(|stack| filter.threads.contains(&stack.thread.tid.into()));
    }

    /// Keeps the task or coroutine with this id, else the thread.
    ///
    /// # Errors
    /// Nothing has the id.
    pub fn choose(&mut self, id: u32) -> Result<()> {
        self.tasks.retain(|member| member.task.id.0 == id);
        self.coroutines.retain(|stack| stack.coroutine.id.0 == id);
        let is_thread = self.tasks.is_empty() && self.coroutines.is_empty();
        self.threads
            .retain(|stack| is_thread && stack.thread.tid == id);
        if self.count() == 0 {
            bail!(
                "no task, no coroutine with a known stack, and no thread has the id {id}: --stacks \
                 without an id lists all"
            );
        }
        Ok(())
    }
}
