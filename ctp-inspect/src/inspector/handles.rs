//! Whether anything but a task itself leads to the values that the task seems to own.
//!
//! Moved variables leave their bytes behind, so that the handles in a future may be remains. If a handle was
//! moved, its new place has the address of the value too.

use std::ops::Range;

use crate::awaits::Handles;
use crate::finder::FoundTask;
use crate::inspector::futures::FutureByTask;
use crate::scan::{Scan, WritableMemory};
use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// At most this many bytes are searched.
const MAX_BYTES: u64 = 16 << 30;

/// The handles of a value, and what is known of other memory.
struct Question {
    handles: Handles,
    /// The task, and the index of its waker.
    task: Range<u64>,
    waker: usize,
    is_used_elsewhere: bool,
}

/// Decides which wakers only the tasks themselves can use.
pub fn settle(
    target: &dyn Target,
    stacks: &StackRanges,
    tasks: &[FoundTask],
    futures: &mut FutureByTask,
) {
    let mut questions = questions(tasks, futures);
    if questions.is_empty() || !ask(target, stacks, &mut questions) {
        return;
    }
    for question in questions.iter().filter(|of| !of.is_used_elsewhere) {
        if let Some((_, future)) = futures.get_mut(&question.task.start) {
            future.wakers[question.waker].is_own = true;
        }
    }
}

/// The questions, sorted by the values.
fn questions(tasks: &[FoundTask], futures: &FutureByTask) -> Vec<Question> {
    let mut questions = Vec::new();
    for task in tasks {
        let wakers = futures.get(&task.address).map(|(_, future)| &future.wakers);
        for (waker, registered) in wakers.into_iter().flatten().enumerate() {
            questions.extend(registered.if_only.clone().map(|handles| Question {
                handles,
                task: task.memory(),
                waker,
                is_used_elsewhere: false,
            }));
        }
    }
    questions.sort_by_key(|question| question.handles.value.start);
    questions
}

/// Searches all memory. Returns whether all of it was read.
fn ask(target: &dyn Target, stacks: &StackRanges, questions: &mut [Question]) -> bool {
    let values = questions.iter().map(|question| &question.handles.value);
    let start = values.clone().map(|value| value.start).min().unwrap_or(0);
    let end = values.map(|value| value.end).max().unwrap_or(0);
    let memory = WritableMemory::of(target.mappings(), MAX_BYTES);
    let mut scan = Scan::default();
    scan.each_piece(target, &memory.ranges, |piece| {
        piece.each_within(&(start..end), |at, word| {
            let unused = stacks.containing(at);
            if unused.is_none_or(|stack| stack.is_in_use(at)) {
                note(questions, at, word);
            }
        });
    });
    memory.skipped + scan.unreadable_bytes(target.mappings()) == 0
}

/// Notes a word of memory that may lead to a value.
fn note(questions: &mut [Question], at: u64, word: u64) {
    let after = questions.partition_point(|question| question.handles.value.start <= word);
    let mut before = questions[..after].iter_mut().rev();
    // A value has one question for each waker in it.
    let Some(last) = before.next() else {
        return;
    };
    let start = last.handles.value.start;
    last.note(at, word);
    for question in before.take_while(|question| question.handles.value.start == start) {
        question.note(at, word);
    }
}

impl Question {
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

    fn question(value: Range<u64>, task: Range<u64>) -> Question {
        Question {
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
            let mut questions = [
                question(0x100..0x140, 0x1000..0x1100),
                question(0x200..0x240, 0x2000..0x2100),
                question(0x200..0x240, 0x3000..0x3100),
            ];
            note(&mut questions, at, word);
            questions.map(|question| question.is_used_elsewhere)
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
