//! [`MemoryUses`]: determines what memory of a process is used for, from its stacks and heaps.

use crate::glibc_heap::{Chunk, Heaps};
use crate::stack_ranges::{StackRanges, is_possible_stack};
use crate::target::Target;

/// The maximum size of the inaccessible memory before a stack.
const MAX_GUARD: u64 = 1 << 16;

/// What memory is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUse {
    /// A chunk of the allocator that is in use.
    Chunk(Chunk),
    /// The used part of the stack of a thread, by the kernel's id.
    Stack(u32),
    /// Static variables, or memory of an unknown allocator.
    Other,
}

/// Determines what memory of a process is used for.
#[derive(Clone, Copy)]
pub struct MemoryUses<'p> {
    /// The process.
    pub target: &'p dyn Target,
    /// The stacks of its threads.
    pub stacks: &'p StackRanges,
    /// The heaps of glibc.
    pub heaps: &'p Heaps<'p>,
}

impl MemoryUse {
    /// The allocator's chunk, for [`MemoryUse::Chunk`].
    pub fn chunk(self) -> Option<Chunk> {
        match self {
            MemoryUse::Chunk(chunk) => Some(chunk),
            _ => None,
        }
    }
}

impl MemoryUses<'_> {
    /// Determines what the memory of each value is used for. Leaves out values in unused memory. `values` must be sorted by
    /// `address`.
    pub fn with_uses<T>(&self, values: Vec<T>, address: impl Fn(&T) -> u64) -> Vec<(T, MemoryUse)> {
        let addresses: Vec<u64> = values.iter().map(&address).collect();
        let chunks = self.heaps.chunks(&addresses);
        let values = values.into_iter().filter_map(|value| {
            let at = address(&value);
            let memory_use = self.use_of(at, chunks.get(&at).copied())?;
            Some((value, memory_use))
        });
        values.collect()
    }

    /// Whether an address may be on a stack that is not in `stacks`, because its thread was running at each inspection.
    /// Such a stack follows a small guard.
    fn may_be_stack(&self, address: u64) -> bool {
        let mappings = self.target.mappings();
        let after = mappings.partition_point(|mapping| mapping.start <= address);
        match mappings[..after] {
            [.., ref guard, ref stack] => {
                guard.len() <= MAX_GUARD && is_possible_stack(guard, stack)
            }
            _ => false,
        }
    }

    /// What the memory at an address is used for. `None` if the memory is not in use, or may be an unused part of a stack.
    /// `chunk` is the allocator's chunk there.
    fn use_of(&self, address: u64, chunk: Option<Chunk>) -> Option<MemoryUse> {
        if let Some(chunk) = chunk {
            let is_released = self.heaps.is_released(chunk) == Some(true);
            let is_in_use = chunk.is_in_use && chunk.memory <= address && !is_released;
            return is_in_use.then_some(MemoryUse::Chunk(chunk));
        }
        match self.stacks.containing(address) {
            // Where the used part of the stack of a running thread begins is not known.
            Some(stack) => {
                let is_in_use = stack.pointer.is_some() && stack.is_in_use(address);
                is_in_use.then_some(MemoryUse::Stack(stack.tid))
            }
            None => (!self.may_be_stack(address)).then_some(MemoryUse::Other),
        }
    }
}
