//! [`TaskFuture`]: a task with a future to be read, and how its runtime keeps the future.

use ctp_trace::record::TaskKind;

use super::pages::Pages;
use super::view::{TargetView, TypedValue};
use crate::finder::FoundTask;
use crate::types::TypeRef;
use crate::{async_task, tokio};

/// A task with a future to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskFuture {
    /// Address of the task's header.
    pub header: u64,
    /// Address of the function that polls the task.
    pub poll: u64,
    /// How the runtime keeps the task.
    pub memory: StoredTask,
}

/// How a runtime keeps a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredTask {
    /// As tokio does: in a cell, of which the debug info says where the future is.
    Tokio,
    /// As async-task does.
    AsyncTask {
        /// Address of the vtable.
        vtable: u64,
        /// Where the future begins, counted from the header.
        future_offset: u64,
        /// Where the future ends, counted from the header.
        size_bytes: u64,
        /// How many wakers the executor keeps of its own task.
        kept_wakers: u32,
    },
}

impl TaskFuture {
    /// The future of a task. `None` if it is unknown how to read the future.
    pub fn of(task: &FoundTask) -> Option<Self> {
        let layout = &task.layout;
        let memory = match task.kind {
            TaskKind::Tokio | TaskKind::Blocking => StoredTask::Tokio,
            TaskKind::AsyncTask => StoredTask::AsyncTask {
                vtable: layout.identity,
                future_offset: layout.future_offset?,
                size_bytes: layout.size_bytes,
                kept_wakers: task.kept_wakers,
            },
            _ => return None,
        };
        (layout.poll != 0).then_some(TaskFuture {
            header: task.address,
            poll: layout.poll,
            memory,
        })
    }

    /// Whether the task has not ended and no thread polls the task. The memory of a task that has ended may have been
    /// overwritten, or belong to another task.
    pub(super) fn is_suspended(self, pages: &Pages<'_>) -> bool {
        match self.memory {
            StoredTask::Tokio => {
                let vtable = self.word(pages, tokio::header::VTABLE_OFFSET);
                let state = self.tokio_state(pages);
                vtable.and_then(|vtable| pages.word(vtable)) == Some(self.poll)
                    && state.is_some_and(|state| state.is_alive() && !state.is_running())
            }
            StoredTask::AsyncTask { vtable, .. } => {
                let state = self.async_task_state(pages);
                self.word(pages, 0) == Some(vtable)
                    && state.is_some_and(|state| state.is_alive() && !state.is_running())
            }
        }
    }

    /// An upper limit of the number of wakers of the task; `None` if the state cannot be read.
    pub(super) fn wakers(self, pages: &Pages<'_>) -> Option<u32> {
        match self.memory {
            StoredTask::Tokio => Some(self.tokio_state(pages)?.wakers()),
            StoredTask::AsyncTask { kept_wakers, .. } => {
                let wakers = self.async_task_state(pages)?.wakers();
                Some(wakers.saturating_sub(kept_wakers))
            }
        }
    }

    /// The future, unless it has ended. `of` is the type of task that the function polls.
    pub(super) fn future(self, view: &TargetView<'_>, of: TypeRef) -> Option<TypedValue> {
        match self.memory {
            StoredTask::Tokio => {
                let address = self.header;
                future_in_cell(view, TypedValue { of, address })
            }
            StoredTask::AsyncTask { future_offset, .. } => Some(TypedValue {
                of: *view.types.layout(of)?.parameters.first()?,
                address: self.header.checked_add(future_offset)?,
            }),
        }
    }

    /// The size of the task in memory. `of` is the type of task that the function polls.
    pub(super) fn size_bytes(self, view: &TargetView<'_>, of: TypeRef) -> u64 {
        match self.memory {
            StoredTask::Tokio => view.types.layout(of).map_or(0, |of| of.size),
            StoredTask::AsyncTask { size_bytes, .. } => size_bytes,
        }
    }

    fn tokio_state(self, pages: &Pages<'_>) -> Option<tokio::state::StateWord> {
        self.word(pages, 0).map(tokio::state::StateWord)
    }

    fn async_task_state(self, pages: &Pages<'_>) -> Option<async_task::state::StateWord> {
        let state = self.word(pages, async_task::header::STATE_OFFSET);
        state.map(async_task::state::StateWord)
    }

    fn word(self, pages: &Pages<'_>, offset: u64) -> Option<u64> {
        pages.word(self.header.checked_add(offset)?)
    }
}

/// The future in the cell of a task of tokio, unless the future has ended.
fn future_in_cell(view: &TargetView<'_>, cell: TypedValue) -> Option<TypedValue> {
    let core = view.member(cell, "core")?;
    let stage = view.unwrapped(view.member(core, "stage")?);
    // The stage is in a struct of its own.
    let inner = view.member(stage, "stage");
    let stage = view.unwrapped(inner.unwrap_or(stage));
    let (name, contents) = view.variant_name(stage)?;
    let future = view.member(contents, "__0")?;
    (name == "Running").then_some(future)
}
