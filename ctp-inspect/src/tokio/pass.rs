//! [`Pass`]: the pass over memory that finds what may be tasks, and what may refer to tasks.

use std::ops::Range;

use crate::references::collected::CollectedWords;
use crate::scan::{MemoryPiece, Scan, WritableMemory};
use crate::stack_ranges::StackRanges;
use crate::target::Target;
use crate::tokio::header::{TaskHeader, VTABLE_OFFSET};
use crate::tokio::index::VtableIndex;
use crate::tokio::owned_list::Headers;

/// The maximum number of candidates that are kept.
const MAX_CANDIDATES: usize = 1 << 21;

/// A pass over memory.
pub struct Pass<'p> {
    target: &'p dyn Target,
    stacks: &'p StackRanges,
    index: &'p mut VtableIndex,
    span: Range<u64>,
    found: Passed,
}

/// What a pass has found.
#[derive(Debug, Default)]
pub struct Passed {
    /// Everything that may be a task.
    pub candidates: Headers,
    /// Words outside of stacks that may be addresses of tasks.
    pub words: CollectedWords,
}

impl<'p> Pass<'p> {
    /// Prepares a pass over this memory.
    pub fn new(
        target: &'p dyn Target,
        stacks: &'p StackRanges,
        index: &'p mut VtableIndex,
        memory: &WritableMemory,
    ) -> Self {
        Pass {
            target,
            stacks,
            index,
            span: memory.span(),
            found: Passed::default(),
        }
    }

    /// Passes over the memory.
    pub fn run(mut self, scan: &mut Scan, memory: &WritableMemory) -> Passed {
        let data = self.index.data.clone();
        let mut last = None;
        scan.each_piece(self.target, &memory.ranges, |piece| {
            let before = piece.address.checked_sub(8);
            let before = last.filter(|(at, _)| before == Some(*at));
            let before = before.map_or(0, |(_, word)| word);
            let span = self.span.clone();
            piece.each_within_or_repeated(before, &data, &span, |at, word, previous| {
                if data.contains(&word) {
                    self.add_in_data(&piece, at, word, previous);
                }
                if word == previous {
                    self.add_repeated(at, word);
                }
            });
            last = piece.last();
        });
        self.found
    }

    /// Adds the task or the waker that has this word, which leads into the data of a module.
    fn add_in_data(&mut self, piece: &MemoryPiece<'_>, at: u64, word: u64, previous: u64) {
        if self.index.range.contains(&word) {
            self.add_candidate(piece, at, word);
        }
        if self.index.wakers.is_waker_vtable(self.target, word) {
            self.add_neighbours(piece, at, previous);
        }
    }

    /// Adds a task, if the word is the vtable in a task's header.
    fn add_candidate(&mut self, piece: &MemoryPiece<'_>, at: u64, word: u64) {
        let vtable = self.index.vtables.get(&word);
        let (Some(vtable), Some(address)) = (vtable, at.checked_sub(VTABLE_OFFSET)) else {
            return;
        };
        if MAX_CANDIDATES <= self.found.candidates.len() {
            return;
        }
        let header = TaskHeader::read(self.target, Some(piece), address, vtable);
        let header = header.filter(TaskHeader::is_plausible);
        // A task is built on a stack, where it has no owner yet. A task with an owner may lie in other memory that
        // adjoins the stack.
        let header =
            header.filter(|header| header.owner != 0 || self.stacks.containing(address).is_none());
        let candidates = &mut self.found.candidates;
        candidates.extend(header.map(|header| (address, header)));
    }

    /// Adds the words before and after a vtable of wakers.
    fn add_neighbours(&mut self, piece: &MemoryPiece<'_>, at: u64, previous: u64) {
        if self.stacks.containing(at).is_none() {
            let words = &mut self.found.words;
            words.add_neighbours((self.target, piece), at, previous, &self.span);
        }
    }

    fn add_repeated(&mut self, at: u64, word: u64) {
        if self.stacks.containing(at).is_none() {
            self.found.words.add_repeated(at, word);
        }
    }
}
