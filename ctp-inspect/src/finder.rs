//! [`Finder`]: finds the tasks of a kind of runtime. Each kind has a finder of its own.

use std::ops::Range;

use ctp_trace::record::{TaskKind, TaskState};

use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// Finds the tasks of a kind of runtime.
pub trait Finder {
    /// Finds all tasks. The finder keeps what the next search of the same target needs.
    fn find(&mut self, target: &dyn Target, stacks: &StackRanges) -> Found;
}

/// What a finder has found at one moment.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The tasks that have not ended, sorted by address.
    pub tasks: Vec<FoundTask>,
    /// The runtimes, such as `tokio 1.54.1`; without a number if the version is unknown.
    pub runtimes: Vec<String>,
    /// Sentences about what could not be read or understood.
    pub gaps: Vec<String>,
}

impl Found {
    /// Adds what another finder has found.
    pub fn add(&mut self, other: Found) {
        self.tasks.extend(other.tasks);
        self.tasks.sort_by_key(|task| task.address);
        self.runtimes.extend(other.runtimes);
        self.gaps.extend(other.gaps);
    }
}

/// A task that has not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundTask {
    /// Address of the task's header, where its memory begins.
    pub address: u64,
    /// The kind of task.
    pub kind: TaskKind,
    /// The id that the runtime gave the task; 0 if unknown.
    pub runtime_id: u64,
    /// What the task is doing.
    pub state: TaskState,
    /// An upper limit of the number of wakers of the task.
    pub wakers: u32,
    /// The addresses of words that look like wakers of the task. Freed memory may contain such words too, so there may
    /// be more than [`wakers`](Self::wakers).
    pub waker_addresses: Vec<u64>,
    /// Threads with the task's address in the used part of their stacks, by the kernel's id.
    pub stacks: Vec<u32>,
    /// Where the task was spawned: file and line, if the runtime recorded that.
    pub spawned_at: Option<(String, u32)>,
    /// The functions of the task.
    pub vtable: TaskVtable,
}

impl FoundTask {
    /// The memory of the task, from the header to the end of the future.
    pub fn memory(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.vtable.trailer_offset)
    }
}

/// The functions and offsets that tasks of a type share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskVtable {
    /// Address of the vtable.
    pub address: u64,
    /// Address of the function that polls a task: `tokio::runtime::task::raw::poll` for the type of
    /// the future.
    pub poll: u64,
    /// Where the part after the future begins, counted from the header.
    pub trailer_offset: u64,
    /// Where the scheduler begins, counted from the header; `None` in tokio before 1.23.
    pub scheduler_offset: Option<u64>,
    /// Where the id of the task is, counted from the header; `None` in tokio before 1.23.
    pub id_offset: Option<u64>,
    /// Where the address of the spawn location is, counted from the header, if it is recorded.
    pub spawn_location_offset: Option<u64>,
}
