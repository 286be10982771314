//! [`StackRanges`]: which memory is the stack of which thread.

use std::ops::Range;

use crate::target::Target;
use crate::target::mapping::Mapping;

/// The stacks of the threads, sorted by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackRanges {
    stacks: Vec<StackRange>,
}

/// The stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackRange {
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The mapping with the stack.
    pub range: Range<u64>,
    /// The stack pointer. `None` if the kernel does not give it, such as while the thread runs.
    pub pointer: Option<u64>,
}

impl StackRange {
    /// Whether the address is in the used part of the stack, or may be.
    pub fn is_in_use(&self, address: u64) -> bool {
        self.pointer.is_none_or(|pointer| pointer <= address)
    }
}

impl StackRanges {
    /// Finds the stacks. The stack of a thread that runs now is known if the thread was blocked during an
    /// earlier call.
    pub fn refresh(&mut self, target: &dyn Target) {
        let pointers = target.stack_pointers();
        let mut stacks: Vec<StackRange> = Vec::new();
        for pointer in &pointers {
            if let Some(mapping) = target.mapping_at(pointer.address) {
                stacks.push(StackRange {
                    tid: pointer.tid,
                    range: mapping.range(),
                    pointer: Some(pointer.address),
                });
            }
        }
        for mapping in target
            .mappings()
            .iter()
            .filter(|mapping| mapping.path == b"[stack]")
        {
            if stacks.iter().all(|stack| stack.range != mapping.range()) {
                stacks.push(StackRange {
                    tid: target.pid(),
                    range: mapping.range(),
                    pointer: None,
                });
            }
        }
        for mut earlier in std::mem::take(&mut self.stacks) {
            let mapping = target.mapping_at(earlier.range.start);
            let is_mapped = mapping.is_some_and(|mapping| mapping.range() == earlier.range);
            let is_known = stacks
                .iter()
                .any(|stack| stack.tid == earlier.tid || stack.range == earlier.range);
            if is_mapped && !is_known {
                earlier.pointer = None;
                stacks.push(earlier);
            }
        }
        stacks.sort_by_key(|stack| stack.range.start);
        self.stacks = stacks;
    }

    /// The parts that are in use or may be, sorted.
    pub fn in_use(&self) -> impl Iterator<Item = Range<u64>> {
        let stacks = self.stacks.iter();
        stacks.map(|stack| stack.pointer.unwrap_or(stack.range.start)..stack.range.end)
    }

    /// The stack that contains an address.
    pub fn containing(&self, address: u64) -> Option<&StackRange> {
        let after = self
            .stacks
            .partition_point(|stack| stack.range.start <= address);
        let stack = self.stacks[..after].last()?;
        stack.range.contains(&address).then_some(stack)
    }
}

/// The writable memory that follows inaccessible memory, sorted. The stacks of threads follow such a guard, but other
/// memory may too.
pub fn possible_stacks(mappings: &[Mapping]) -> impl Iterator<Item = Range<u64>> {
    let stacks = mappings.windows(2).filter_map(|pair| match pair {
        [guard, stack] if is_possible_stack(guard, stack) => Some(stack),
        _ => None,
    });
    stacks.map(Mapping::range)
}

/// Whether the second of two mappings may be the stack of a thread, and the first its guard.
pub fn is_possible_stack(guard: &Mapping, stack: &Mapping) -> bool {
    let is_guarded = guard.end == stack.start && !guard.is_readable;
    is_guarded && stack.is_writable && !stack.has_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::StackPointer;
    use crate::target::image::MemoryImage;
    use crate::target::mapping::parse;

    #[test]
    fn running_threads_keep_their_stacks() {
        let mut image = MemoryImage::default();
        for mapping in parse(b"1000-2000 rw-p 0 0:0 0\n3000-4000 rw-p 0 0:0 0\n") {
            image.add(mapping, Vec::new());
        }
        let (tid, address) = (7, 0x1800);
        image.stack_pointers = vec![StackPointer { tid, address }];
        let mut stacks = StackRanges::default();
        stacks.refresh(&image);
        let stack = stacks.containing(0x1000).expect("the stack");
        assert_eq!((stack.tid, stack.pointer), (7, Some(0x1800)));
        assert!(stack.is_in_use(0x1800) && !stack.is_in_use(0x17ff));
        image.stack_pointers.clear();
        stacks.refresh(&image);
        assert!(
            stacks
                .containing(0x1fff)
                .is_some_and(|stack| stack.is_in_use(0x1000))
        );
        assert_eq!(stacks.containing(0x3000), None);
    }

    #[test]
    fn memory_behind_a_guard_may_be_a_stack() {
        let mappings = parse(
            b"1000-2000 ---p 0 0:0 0\n2000-5000 rw-p 0 0:0 0\n5000-6000 rw-p 0 8:1 9 /app\n\
              6000-7000 ---p 0 0:0 0\n7000-8000 rw-p 0 8:1 9 /app\n9000-a000 rw-p 0 0:0 0\n",
        );
        assert!(possible_stacks(&mappings).eq(std::iter::once(0x2000..0x5000)));
    }
}
