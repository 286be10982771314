//! Observations of a process's threads, made from outside the program.

use crate::record::{Nanos, ProcessId};

/// What the threads of a process did when the recorder read their states. Recorded while none of them
/// runs, and once after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// The process.
    pub process: ProcessId,
    /// When the recorder read the states.
    pub at: Nanos,
    /// Threads that only another thread of the process can wake: they wait for a futex without a
    /// timeout, or in an epoll without a timeout that watches nothing outside of the process.
    pub parked: u64,
    /// Threads that sleep for a time.
    pub sleeping: u64,
    /// All other threads: those that run, and those in other calls. Also counts the signals that the
    /// program handles.
    pub others: u64,
}
