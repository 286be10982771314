//! [`TaskHeader`]: the words at the start of a task of async-task.

use crate::references::References;
use crate::scan::MemoryPiece;
use crate::target::Target;

use super::state::StateWord;

/// Bytes from the start of the header to the state. The vtable is at the start.
pub const STATE_OFFSET: u64 = 8;
/// Bytes from the start of the header to the waker of the task that awaits this task.
pub const AWAITER_OFFSET: u64 = 16;
/// The smallest size of a header.
pub const HEADER_BYTES: u64 = 32;

/// The first words of a task: the vtable, the state, and the waker of the task that awaits this task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskHeader {
    /// Address of the header.
    pub address: u64,
    /// Address of the vtable.
    pub vtable: u64,
    /// State and references.
    pub state: StateWord,
    /// The two words of the waker of the task that awaits this task.
    pub awaiter: [u64; 2],
}

impl TaskHeader {
    /// Reads the header at an address: from `piece` if the piece has the words, otherwise from `target`. `None` if the
    /// words cannot be read.
    pub fn read(
        target: &dyn Target,
        piece: Option<&MemoryPiece<'_>>,
        address: u64,
    ) -> Option<Self> {
        let mut words = [0; (HEADER_BYTES / 8) as usize];
        let is_in_piece = piece.is_some_and(|piece| piece.copy(address, &mut words));
        if !is_in_piece && !target.words(address, &mut words) {
            return None;
        }
        let [vtable, state, first, second] = words;
        Some(TaskHeader {
            address,
            vtable,
            state: StateWord(state),
            awaiter: [first, second],
        })
    }

    /// Whether these can be the words of a task that has not ended. The state must agree with the waker: if no waker is
    /// registered, the address of the waker's vtable is 0.
    pub fn is_plausible(&self) -> bool {
        let is_awaiter_plausible = match self.state.has_awaiter() {
            Some(true) => self.awaiter != [0, 0],
            Some(false) => self.awaiter.contains(&0),
            None => true,
        };
        self.state.is_alive() && is_awaiter_plausible
    }

    /// Whether references prove that these are the words of a task. At least an executor, a waker, a queue or a handle
    /// refers to each task.
    pub fn is_proven_by(&self, references: &References) -> bool {
        0 < references.in_heap || !references.stacks.is_empty() || references.has_wakers()
    }
}
