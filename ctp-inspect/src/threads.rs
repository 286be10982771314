//! The threads of a process: what each does, and its call stack.

pub mod block_on;
pub mod inspector;
pub mod polled;
pub mod procfs;

mod block_in_place;
pub(crate) mod interrupt;
mod mark;
mod names;
mod role;
mod syscall_names;

use crate::stacks::{CopiedStack, Registers};

/// What the kernel says about a thread at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSample {
    /// The kernel's id of the thread.
    pub tid: u32,
    /// Name of the thread.
    pub name: String,
    /// How often the thread has left its processor, to wait or for another thread.
    pub switches: u64,
    /// Whether the thread is blocked, and where.
    pub state: ThreadState,
}

/// Whether a thread is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadState {
    /// The thread runs, or is about to.
    Running,
    /// The thread is blocked.
    Blocked {
        /// The number of its system call; `None` if the thread is in no system call, such as when it was stopped.
        syscall: Option<u32>,
        /// Its registers.
        registers: Box<Registers>,
    },
    /// The thread runs, and was stopped for a moment.
    Interrupted {
        /// Its registers at that moment.
        registers: Box<Registers>,
        /// Its stack at that moment.
        stack: CopiedStack,
    },
    /// The kernel does not say whether the thread is blocked.
    Unknown,
}
