//! [`MemoryUses`]: what the memory at an address is used for.

use crate::glibc_heap::{Chunk, Heaps};
use crate::stack_ranges::StackRanges;
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

/// The memory of a process.
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
    /// The chunk, if it is one.
    pub fn chunk(self) -> Option<Chunk> {
        match self {
            MemoryUse::Chunk(chunk) => Some(chunk),
            _ => None,
        }
    }
}

impl MemoryUses<'_> {
    /// Finds the place of each value. Values in memory that is not in use are left out. The values are sorted by
    /// address.
    pub fn locate<T>(&self, values: Vec<T>, address: impl Fn(&T) -> u64) -> Vec<(T, MemoryUse)> {
        let addresses: Vec<u64> = values.iter().map(&address).collect();
        let chunks = self.heaps.chunks(&addresses);
        let values = values.into_iter().filter_map(|value| {
            let at = address(&value);
            let place = self.place(at, chunks.get(&at).copied())?;
            Some((value, place))
        });
        values.collect()
    }

    /// Whether an address may be on the stack of a thread that has been running at each inspection: the memory follows a
    /// small guard.
    fn may_be_stack(&self, address: u64) -> bool {
        let mappings = self.target.mappings();
        let after = mappings.partition_point(|mapping| mapping.start <= address);
        match mappings[..after] {
            [.., ref guard, ref stack] => {
                let has_guard = guard.end == stack.start && !guard.is_readable;
                has_guard && guard.len() <= MAX_GUARD && !stack.has_file()
            }
            _ => false,
        }
    }

    /// What the memory at an address is used for; `None` if it is not in use. `chunk` is the allocator's chunk there.
    fn place(&self, address: u64, chunk: Option<Chunk>) -> Option<MemoryUse> {
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
