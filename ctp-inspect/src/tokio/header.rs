//! [`TaskHeader`]: the words at the start of a task of tokio, which identify the task and its neighbours.

use crate::references::References;
use crate::scan::MemoryPiece;
use crate::target::Target;
use crate::tokio::state::StateWord;
use crate::tokio::vtable::TaskVtable;

/// Where the vtable's address is, counted from the header.
pub const VTABLE_OFFSET: u64 = 16;

/// The words of a task: state, next in a queue, vtable and id of the owner's list; then, at the trailer,
/// the neighbours in that list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskHeader {
    /// Address of the header.
    pub address: u64,
    /// State and references.
    pub state: StateWord,
    /// The next task in the queue that has this task; 0 if none.
    pub queue_next: u64,
    /// Address of the vtable.
    pub vtable: u64,
    /// Number of the list of tasks that owns this task; 0 for tasks of the blocking pool.
    pub owner: u64,
    /// The neighbours in the owner's list: previous and next; 0 at the ends.
    pub neighbours: [u64; 2],
    /// The id that tokio gave the task; 0 if unknown.
    pub id: u64,
}

impl TaskHeader {
    /// Reads the task at an address: from `piece` if the piece has the words, otherwise from `target`. `None` if the
    /// words cannot be read.
    pub fn read(
        target: &dyn Target,
        piece: Option<&MemoryPiece<'_>>,
        address: u64,
        vtable: &TaskVtable,
    ) -> Option<Self> {
        let header = words(target, piece, address)?;
        let trailer = address.checked_add(vtable.trailer_offset)?;
        let id = vtable.id_offset.map(|offset| address + offset);
        let [state, queue_next, vtable, owner] = header;
        Some(TaskHeader {
            address,
            state: StateWord(state),
            queue_next,
            vtable,
            owner,
            neighbours: words(target, piece, trailer)?,
            id: id.map_or(Some([0]), |id| words(target, piece, id))?[0],
        })
    }

    /// Whether these can be the words of a task that has not ended. Some allocators overwrite the state of a freed
    /// task. With other allocators, the state of a freed task has no references. A task is built on a stack, where it
    /// has no owner yet, but random neighbours.
    pub fn is_plausible(&self) -> bool {
        let pointers = [self.queue_next, self.neighbours[0], self.neighbours[1]];
        let are_aligned = pointers.iter().all(|pointer| pointer.is_multiple_of(8));
        let can_have_neighbours = self.owner != 0 || self.neighbours == [0, 0];
        are_aligned
            && can_have_neighbours
            && self.state.is_alive()
            && !self.neighbours.contains(&self.address)
    }

    /// Whether references prove that these are the words of a task. A task without neighbours must be alone in its list.
    /// A task without an owner must be in a queue, or be polled.
    pub fn is_proven_by(&self, references: &References) -> bool {
        if self.owner == 0 {
            0 < references.in_heap || !references.stacks.is_empty()
        } else {
            self.neighbours != [0, 0] || references.is_alone_in_list
        }
    }

    /// Whether these can be the words of a task of the blocking pool.
    pub fn is_blocking(&self) -> bool {
        self.owner == 0 && self.neighbours == [0, 0] && self.state.is_active()
    }
}

fn words<const N: usize>(
    target: &dyn Target,
    piece: Option<&MemoryPiece<'_>>,
    address: u64,
) -> Option<[u64; N]> {
    let mut words = [0; N];
    let is_in_piece = piece.is_some_and(|piece| piece.copy(address, &mut words));
    (is_in_piece || target.words(address, &mut words)).then_some(words)
}
