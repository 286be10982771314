//! [`Finder`]: finds the tasks of a kind of runtime. Each kind has a finder of its own.

use std::ops::Range;

use ctp_trace::record::{AwaitFrame, TaskKind, TaskState};

use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// Finds the tasks of a kind of runtime.
pub trait Finder {
    /// Finds all tasks. The finder keeps what the next search of the same target needs.
    fn find(&mut self, target: &dyn Target, stacks: &StackRanges) -> FoundTasks;
}

/// What a finder has found at one moment.
#[derive(Clone, Debug, Default)]
pub struct FoundTasks {
    /// The tasks that have not ended, sorted by address.
    pub tasks: Vec<FoundTask>,
    /// The runtimes, such as `tokio 1.54.1`; without a number if the version is unknown.
    pub runtimes: Vec<String>,
    /// Sentences about what could not be read or understood.
    pub gaps: Vec<String>,
}

impl FoundTasks {
    /// Adds what another finder has found.
    pub fn add(&mut self, other: FoundTasks) {
        self.tasks.extend(other.tasks);
        self.tasks.sort_by_key(|task| task.address);
        self.runtimes.extend(other.runtimes);
        for gap in other.gaps {
            // Each finder searches the same memory.
            if !self.gaps.contains(&gap) {
                self.gaps.push(gap);
            }
        }
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
    /// An upper limit of the number of wakers of the task; `None` if unknown.
    pub wakers: Option<u32>,
    /// The number of wakers that an executor keeps of its own task, to drop the task at the end. They are not among
    /// [`wakers`](Self::wakers) and [`waker_addresses`](Self::waker_addresses).
    pub kept_wakers: u32,
    /// The addresses of words that look like wakers of the task. Freed memory may contain such words too, so there may
    /// be more than [`wakers`](Self::wakers).
    pub waker_addresses: Vec<u64>,
    /// Threads with the task's address in the used part of their stacks, by the kernel's id.
    pub stacks: Vec<u32>,
    /// Where the task was spawned: file and line, if the runtime recorded that.
    pub spawned_at: Option<(String, u32)>,
    /// The name of the function, if the finder knows it.
    pub name: String,
    /// The functions that await each other, outermost first, if the finder knows them.
    pub frames: Vec<AwaitFrame>,
    /// The allocator does not say that the memory of the task is in use.
    pub may_be_freed: bool,
    /// What the task has in common with the other tasks of its type.
    pub layout: TaskLayout,
}

impl FoundTask {
    /// The memory of the task, from the header to the end of the future.
    pub fn memory(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.layout.size_bytes)
    }

    /// The memory with the waker of another task that awaits the end of this task. Empty if there is none.
    pub fn joiner(&self) -> Range<u64> {
        let joiner = &self.layout.joiner;
        self.address.saturating_add(joiner.start)..self.address.saturating_add(joiner.end)
    }

    /// The word and the bit in it that are set while a thread polls the task.
    pub fn running_flag(&self) -> Option<(u64, u64)> {
        let flag = self.layout.running?;
        Some((self.address.checked_add(flag.offset)?, flag.mask))
    }
}

/// What the tasks of a type have in common. Offsets are counted from the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskLayout {
    /// An address that differs between types, such as that of the vtable.
    pub identity: u64,
    /// Address of the function that polls a task; 0 if unknown.
    pub poll: u64,
    /// Where the future ends; 0 if unknown.
    pub size_bytes: u64,
    /// Where the future begins, if the runtime says so.
    pub future_offset: Option<u64>,
    /// Where the waker of another task is that awaits the end of the task; empty if nowhere.
    pub joiner: Range<u64>,
    /// The flag that is set while a thread polls the task; `None` if there is none.
    pub running: Option<RunningFlag>,
}

/// A flag in a word of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunningFlag {
    /// Where the word is, counted from the header.
    pub offset: u64,
    /// The bit of the flag.
    pub mask: u64,
}
