//! Finds the wakers that only their own task can use: they lie in a value, such as a channel, to which no handle
//! outside of the task leads.
//!
//! The handles in a future may be remains of a variable that was moved, since a move leaves the bytes behind. The
//! new place of a moved handle has the address of the value too. So all memory is searched for such addresses.

use std::ops::Range;

use crate::awaits::Handles;
use crate::finder::FoundTask;
use crate::inspector::futures::FutureByTask;
use crate::scan::{Scan, WritableMemory};
use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// Maximum number of bytes that are searched.
const MAX_BYTES: u64 = 16 << 30;

/// A value that a task seems to own, and whether other memory leads to the value.
struct OwnedValue {
    handles: Handles,
    /// The memory of the task. `waker` is the index of its waker.
    task: Range<u64>,
    waker: usize,
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
        if let Some((_, future)) = futures.get_mut(&candidate.task.start) {
            future.wakers[candidate.waker].is_own = true;
        }
    }
}

/// The candidates, sorted by their values.
fn candidates(tasks: &[FoundTask], futures: &FutureByTask) -> Vec<OwnedValue> {
    let mut candidates = Vec::new();
    for task in tasks {
        let wakers = futures.get(&task.address).map(|(_, future)| &future.wakers);
        for (waker, registered) in wakers.into_iter().flatten().enumerate() {
            candidates.extend(
                registered
                    .own_if_unshared
                    .clone()
                    .map(|handles| OwnedValue {
                        handles,
                        task: task.memory(),
                        waker,
                        is_used_elsewhere: false,
                    }),
            );
        }
    }
    candidates.sort_by_key(|candidate| candidate.handles.value.start);
    candidates
}

/// Searches all memory for addresses of the values. Returns whether all memory was read.
fn search_memory(target: &dyn Target, stacks: &StackRanges, candidates: &mut [OwnedValue]) -> bool {
    let values = candidates.iter().map(|candidate| &candidate.handles.value);
    let start = values.clone().map(|value| value.start).min().unwrap_or(0);
    let end = values.map(|value| value.end).max().unwrap_or(0);
    let memory = WritableMemory::of(target, MAX_BYTES);
    let mut scan = Scan::default();
    scan.each_piece(target, &memory.ranges, |piece| {
        piece.each_within(&(start..end), |at, word| {
            let unused = stacks.containing(at);
            if unused.is_none_or(|stack| stack.is_in_use(at)) {
                note(candidates, at, word);
            }
        });
    });
    memory.skipped + scan.unreadable_bytes(target.mappings()) == 0
}

/// Notes a word of memory that may lead to a value.
fn note(candidates: &mut [OwnedValue], at: u64, word: u64) {
    let after = candidates.partition_point(|candidate| candidate.handles.value.start <= word);
    let mut before = candidates[..after].iter_mut().rev();
    // A value has a candidate for each waker in it.
    let Some(last) = before.next() else {
        return;
    };
    let start = last.handles.value.start;
    last.note(at, word);
    for candidate in before.take_while(|candidate| candidate.handles.value.start == start) {
        candidate.note(at, word);
    }
}

impl OwnedValue {
    fn note(&mut self, at: u64, word: u64) {
        let handles = &self.handles;
        let is_own =
            self.task.contains(&at) || handles.value.contains(&at) || handles.at.contains(&at);
        self.is_used_elsewhere |= handles.value.contains(&word) && !is_own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(value: Range<u64>, task: Range<u64>) -> OwnedValue {
        OwnedValue {
            handles: Handles {
                value,
                at: vec![0x9000],
            },
            task,
            waker: 0,
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
}
