//! Finds the wakers that only their own task can use: they lie in a value, such as a channel, to which no handle
//! outside of the task leads.
//!
//! A move leaves the bytes of the old variable behind, so a handle found in a future may be stale. If so, the moved
//! handle elsewhere holds the address of the value too. Therefore all memory is searched for addresses of the value.
//!
//! In a running process, two handles can be missed. A thread may keep its only handle in a register, which the kernel
//! does not show; a core file has all registers. And during the search, a handle may move to memory that was already
//! searched. So the verdict that rests on such a waker is never certain, and requires that the task is the same in two
//! inspections.

use std::ops::Range;

use crate::awaits::Handles;
use crate::finder::FoundTask;
use crate::inspector::futures::FutureByTask;
use crate::scan::{Scan, WritableMemory};
use crate::stack_ranges::{StackRange, StackRanges};
use crate::target::Target;
use crate::threads::ThreadState;

/// Maximum number of bytes that are searched.
const MAX_BYTES: u64 = 16 << 30;
/// A function of x86-64 that calls no other function may use this many bytes below its stack pointer.
const RED_ZONE_BYTES: u64 = 128;

/// A value that a task seems to own, and whether other memory leads to the value.
struct OwnedValue {
    handles: Handles,
    /// The memory of the task.
    task_memory: Range<u64>,
    /// The index of the waker among those of the task.
    waker_index: usize,
    /// Memory outside of the task has an address of the value.
    is_used_elsewhere: bool,
}

/// Marks the wakers that only the tasks themselves can use.
pub fn mark_own_wakers(
    target: &dyn Target,
    stacks: &StackRanges,
    tasks: &[FoundTask],
    futures: &mut FutureByTask,
) {
    let mut candidates = candidates(tasks, futures);
    if candidates.is_empty() || !search_memory(target, stacks, &mut candidates) {
        return;
    }
    for candidate in candidates
        .iter()
        .filter(|candidate| !candidate.is_used_elsewhere)
    {
        if let Some((_, future)) = futures.get_mut(&candidate.task_memory.start) {
            future.wakers[candidate.waker_index].is_own = true;
        }
    }
}

/// The candidates, sorted by their values.
fn candidates(tasks: &[FoundTask], futures: &FutureByTask) -> Vec<OwnedValue> {
    let mut candidates = Vec::new();
    for task in tasks {
        let wakers = futures.get(&task.address).map(|(_, future)| &future.wakers);
        for (waker_index, registered) in wakers.into_iter().flatten().enumerate() {
            candidates.extend(
                registered
                    .own_if_unshared
                    .clone()
                    .map(|handles| OwnedValue {
                        handles,
                        task_memory: task.memory(),
                        waker_index,
                        is_used_elsewhere: false,
                    }),
            );
        }
    }
    candidates.sort_by_key(|candidate| candidate.handles.value.start);
    candidates
}

/// Searches all memory, and the registers in a core file, for addresses of the values. Returns whether all memory was
/// read. The candidates must be sorted by their values.
fn search_memory(target: &dyn Target, stacks: &StackRanges, candidates: &mut [OwnedValue]) -> bool {
    let start = candidates
        .first()
        .map_or(0, |first| first.handles.value.start);
    let ends = candidates
        .iter()
        .map(|candidate| candidate.handles.value.end);
    let end = ends.max().unwrap_or(0);
    let memory = WritableMemory::of(target, MAX_BYTES);
    let mut scan = Scan::default();
    scan.each_piece(target, &memory.ranges, |piece| {
        piece.each_within(&(start..end), |at, word| {
            if stacks
                .containing(at)
                .is_none_or(|stack| may_be_in_use(stack, at))
            {
                note(candidates, at, word);
            }
        });
    });
    if !target.core_file().is_empty() {
        search_registers(target, candidates);
    }
    memory.skipped + scan.unreadable_bytes(target.mappings()) == 0
}

/// Whether a word on a stack may be in use. A function may use words below the stack pointer.
fn may_be_in_use(stack: &StackRange, at: u64) -> bool {
    stack.is_in_use(at.saturating_add(RED_ZONE_BYTES))
}

/// Notes the registers of all threads. A register counts as a word on the stack of its thread.
fn search_registers(target: &dyn Target, candidates: &mut [OwnedValue]) {
    let threads = target.thread_ids().into_iter();
    for thread in threads.filter_map(|tid| target.thread(tid)) {
        if let ThreadState::Blocked { registers, .. } = &thread.state {
            for value in registers.values() {
                note(candidates, registers.sp, value);
            }
        }
    }
}

/// Notes a word of memory that may lead to a value.
fn note(candidates: &mut [OwnedValue], at: u64, word: u64) {
    let end = candidates.partition_point(|candidate| candidate.handles.value.start <= word);
    let Some(last) = candidates[..end].last() else {
        return;
    };
    // A value has a candidate for each waker in it.
    let start = last.handles.value.start;
    let first = candidates[..end].partition_point(|of| of.handles.value.start < start);
    for candidate in &mut candidates[first..end] {
        candidate.note(at, word);
    }
}

impl OwnedValue {
    fn note(&mut self, at: u64, word: u64) {
        let handles = &self.handles;
        let is_own = self.task_memory.contains(&at)
            || handles.value.contains(&at)
            || handles.at.contains(&at);
        self.is_used_elsewhere |= handles.value.contains(&word) && !is_own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::{Processor, Registers};
    use crate::target::StackPointer;
    use crate::target::image::MemoryImage;
    use crate::target::mapping::parse;
    use crate::threads::ThreadSample;

    fn candidate(value: Range<u64>, task_memory: Range<u64>) -> OwnedValue {
        OwnedValue {
            handles: Handles {
                value,
                at: vec![0x9000],
            },
            task_memory,
            waker_index: 0,
            is_used_elsewhere: false,
        }
    }

    #[test]
    fn words_elsewhere_lead_to_the_value() {
        let is_used = |at, word| {
            let mut candidates = [
                candidate(0x100..0x140, 0x1000..0x1100),
                candidate(0x200..0x240, 0x2000..0x2100),
                candidate(0x200..0x240, 0x3000..0x3100),
            ];
            note(&mut candidates, at, word);
            candidates.map(|candidate| candidate.is_used_elsewhere)
        };
        assert_eq!(is_used(0x5000, 0x110), [true, false, false]);
        assert_eq!(is_used(0x5000, 0x210), [false, true, true]);
        assert_eq!(is_used(0x2010, 0x210), [false, false, true]);
        for (at, word) in [
            (0x1010, 0x110),
            (0x108, 0x110),
            (0x9000, 0x110),
            (0x5000, 0x150),
        ] {
            assert_eq!(is_used(at, word), [false; 3]);
        }
    }
    #[test]
    fn red_zone_may_lead_to_the_value() {
        let mut image = MemoryImage::default();
        for mapping in parse(b"3000-4000 rw-p 0 0:0 0\n") {
            let bytes = vec![0; mapping.len() as usize];
            image.add(mapping, bytes);
        }
        image.stack_pointers = vec![StackPointer {
            tid: 7,
            address: 0x3800,
        }];
        let mut stacks = StackRanges::default();
        stacks.refresh(&image);
        for (at, is_used) in [(0x3800, true), (0x3780, true), (0x3778, false)] {
            let mut image = image.clone();
            image.set_word(at, 0x110);
            let mut candidates = [candidate(0x100..0x140, 0x1000..0x1100)];
            assert!(search_memory(&image, &stacks, &mut candidates));
            assert_eq!(candidates[0].is_used_elsewhere, is_used, "{at:#x}");
        }
    }

    #[test]
    fn registers_lead_to_the_value() {
        let mut registers = Registers::new(Processor::X86_64, 0x110, 0x3800);
        registers.set(gimli::Register(3), Some(0x210));
        let mut image = MemoryImage::default();
        image.threads = vec![ThreadSample {
            tid: 7,
            name: String::new(),
            switches: 0,
            state: ThreadState::Blocked {
                syscall: None,
                registers: Box::new(registers),
            },
        }];
        let mut candidates = [
            candidate(0x100..0x140, 0x1000..0x1100),
            candidate(0x200..0x240, 0x2000..0x2100),
        ];
        search_registers(&image, &mut candidates);
        assert_eq!(
            candidates.map(|candidate| candidate.is_used_elsewhere),
            [false, true]
        );
    }
}
