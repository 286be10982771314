//! [`Pass`]: the pass over memory that finds what may be tasks, and what may refer to tasks.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::references::collected::CollectedWords;
use crate::scan::{MemoryPiece, Scan, WritableMemory};
use crate::stack_ranges::StackRanges;
use crate::target::Target;

use super::header::TaskHeader;
use super::index::VtableIndex;

/// The maximum number of candidates that are kept.
const MAX_CANDIDATES: usize = 1 << 21;

/// The tasks by address.
pub type Headers = BTreeMap<u64, TaskHeader>;

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
        scan.each_piece(self.target, &memory.ranges, |piece| {
            piece.each_within(&data, |at, word| self.add(&piece, at, word));
        });
        self.found
    }

    /// Adds the task or the waker that has this word, which leads into the data of a module. A task is never on a stack,
    /// but copies of its header may be.
    fn add(&mut self, piece: &MemoryPiece<'_>, at: u64, word: u64) {
        let is_task = self.index.vtables.contains_key(&word);
        if !is_task && !self.index.wakers.is_waker_vtable(self.target, word) {
            return;
        }
        if self.stacks.containing(at).is_some() {
            return;
        }
        if is_task {
            self.add_candidate(piece, at);
        } else {
            let source = (self.target, piece);
            let previous = at.checked_sub(8).and_then(|before| {
                let word = piece.word(before);
                word.or_else(|| self.target.word(before))
            });
            let words = &mut self.found.words;
            words.add_neighbours(source, at, previous.unwrap_or(0), &self.span);
        }
    }

    fn add_candidate(&mut self, piece: &MemoryPiece<'_>, address: u64) {
        if MAX_CANDIDATES <= self.found.candidates.len() {
            return;
        }
        let header = TaskHeader::read(self.target, Some(piece), address);
        let header = header.filter(TaskHeader::is_plausible);
        let candidates = &mut self.found.candidates;
        candidates.extend(header.map(|header| (address, header)));
    }
}
