//! Call stacks of coroutines that wait on stacks of their own.

use crate::record::{CoroutineId, Nanos};

/// The call stack of a waiting coroutine, as the recorder read it from outside. Replaces the
/// coroutine's earlier call stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoroutineStack {
    /// The coroutine.
    pub coroutine: CoroutineId,
    /// When the coroutine suspended, which is the time of its suspend event.
    pub since: Nanos,
    /// When the stack was read.
    pub at: Nanos,
    /// The call stack, innermost first: an instruction, then return addresses. Empty if unknown.
    pub addresses: Vec<u64>,
    /// The call stack reaches the function with which the coroutine began.
    pub is_whole: bool,
    /// The coroutine went on during each attempt to read its stack.
    pub is_moving: bool,
}
