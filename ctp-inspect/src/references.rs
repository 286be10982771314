//! Finds the words of memory that contain addresses of tasks: wakers, lists and stacks.

pub mod collected;
pub mod waker_vtables;

use std::collections::HashMap;
use std::ops::Range;

use crate::references::collected::{CollectedWord, CollectedWords};
use crate::references::waker_vtables::WakerVtables;
use crate::scan::MemoryPiece;
use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// At most this many wakers of a task are listed.
const MAX_WAKERS: usize = 64;
const FILTER_BITS: u64 = 1 << 20;

/// What the words with the address of a task are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Words followed by a vtable of wakers.
    pub before_vtable: Vec<u64>,
    /// Words that follow a vtable of wakers.
    pub after_vtable: Vec<u64>,
    /// Two equal words in a row are the head and the tail of a list with a single task.
    pub is_alone_in_list: bool,
    /// Threads with the address in the used part of their stacks.
    pub stacks: Vec<u32>,
    /// The number of words outside of stacks.
    pub in_heap: u32,
}

impl References {
    /// Whether a word beside a vtable of wakers is among them.
    pub fn has_wakers(&self) -> bool {
        !self.before_vtable.is_empty() || !self.after_vtable.is_empty()
    }
}

/// Collects [`References`] of all tasks during a pass over memory.
pub struct ReferenceSearch<'t> {
    target: &'t dyn Target,
    stacks: &'t StackRanges,
    filter: AddressFilter,
    /// The addresses of the tasks, sorted.
    tasks: Vec<u64>,
    /// What was found, in the order of the addresses.
    found: Vec<References>,
    /// Where tasks keep the addresses of other tasks, such as of their neighbours in a list; sorted.
    links: Vec<Range<u64>>,
}

impl<'t> ReferenceSearch<'t> {
    /// Searches for these addresses of tasks, outside of `links`. Both are sorted.
    pub fn new(
        target: &'t dyn Target,
        stacks: &'t StackRanges,
        tasks: Vec<u64>,
        links: Vec<Range<u64>>,
    ) -> Self {
        ReferenceSearch {
            target,
            stacks,
            filter: AddressFilter::of(&tasks),
            found: vec![References::default(); tasks.len()],
            tasks,
            links,
        }
    }

    /// What was found, by the address of the task.
    pub fn finish(self) -> HashMap<u64, References> {
        self.tasks.into_iter().zip(self.found).collect()
    }

    /// Adds the words that were collected outside of stacks.
    pub fn add_collected(&mut self, words: &CollectedWords) {
        for word in &words.before_vtable {
            if let Some(references) = self.references_to(*word) {
                push(&mut references.before_vtable, word.at);
            }
        }
        for word in &words.after_vtable {
            if let Some(references) = self.references_to(*word) {
                push(&mut references.after_vtable, word.at);
            }
        }
        for word in &words.repeated {
            if let Some(references) = self.references_to(*word) {
                references.is_alone_in_list = true;
            }
        }
    }

    /// The collection of references to the task with the address `word`. `None` if there is no such task, or if the
    /// word is in a link.
    fn references_to(
        &mut self,
        CollectedWord { at, word }: CollectedWord,
    ) -> Option<&mut References> {
        let may_be = self.filter.range.contains(&word) && self.filter.may_contain(word);
        let number = may_be.then(|| self.tasks.binary_search(&word).ok())??;
        let is_link = self.is_link(at);
        self.found.get_mut(number).filter(|_| !is_link)
    }

    fn is_link(&self, at: u64) -> bool {
        let after = self.links.partition_point(|link| link.start <= at);
        let link = self.links[..after].last();
        link.is_some_and(|link| link.contains(&at))
    }

    /// Searches a piece of memory.
    pub fn search(&mut self, piece: &MemoryPiece<'_>, wakers: &mut WakerVtables) {
        let mut hits = Vec::new();
        piece.each_within(&self.filter.range, |at, word| {
            if self.filter.may_contain(word) {
                hits.push((at, word));
            }
        });
        for (at, word) in hits {
            self.classify(piece, wakers, at, word);
        }
    }

    fn classify(&mut self, piece: &MemoryPiece<'_>, wakers: &mut WakerVtables, at: u64, task: u64) {
        let (target, stacks) = (self.target, self.stacks);
        let Some(references) = self.references_to(CollectedWord { at, word: task }) else {
            return;
        };
        if let Some(stack) = stacks.containing(at) {
            if stack.is_in_use(at) && !references.stacks.contains(&stack.tid) {
                references.stacks.push(stack.tid);
            }
        } else {
            references.in_heap = references.in_heap.saturating_add(1);
        }
        let word = |address| piece.word(address).or_else(|| target.word(address));
        let before = at.checked_sub(8).and_then(word).unwrap_or_default();
        let after = at.checked_add(8).and_then(word).unwrap_or_default();
        references.is_alone_in_list |= after == task || before == task;
        if wakers.is_waker_vtable(target, after) {
            push(&mut references.before_vtable, at);
        }
        if wakers.is_waker_vtable(target, before) {
            push(&mut references.after_vtable, at);
        }
    }
}

fn push(addresses: &mut Vec<u64>, address: u64) {
    if addresses.len() < MAX_WAKERS {
        addresses.push(address);
    }
}

/// The wakers by task. The compiler may put either of a waker's two words first, but does the same for all wakers of a
/// program. So only the addresses with the more frequent order are kept.
pub fn wakers(found: &HashMap<u64, References>) -> HashMap<u64, Vec<u64>> {
    let before: usize = found
        .values()
        .map(|references| references.before_vtable.len())
        .sum();
    let after: usize = found
        .values()
        .map(|references| references.after_vtable.len())
        .sum();
    let wakers = found.iter().map(|(task, references)| {
        let addresses = if after < before {
            references.before_vtable.clone()
        } else {
            references.after_vtable.clone()
        };
        (*task, addresses)
    });
    wakers.collect()
}

/// Excludes most words that are no address of a task, without a search.
struct AddressFilter {
    range: Range<u64>,
    /// All addresses are multiples of 2 to the power of this.
    alignment: u32,
    bits: Vec<u64>,
}

impl AddressFilter {
    /// A filter of these addresses, which are sorted.
    fn of(tasks: &[u64]) -> Self {
        let first = tasks.first().copied().unwrap_or_default();
        let end = tasks.last().map_or(0, |last| last.saturating_add(1));
        let all = tasks.iter().fold(0, |all, address| all | address);
        let mut filter = AddressFilter {
            range: first..end,
            alignment: all.trailing_zeros().min(63),
            bits: vec![0; (FILTER_BITS / 64) as usize],
        };
        for address in tasks {
            let (index, mask) = filter.bit(*address);
            filter.bits[index] |= mask;
        }
        filter
    }

    fn bit(&self, address: u64) -> (usize, u64) {
        let bit = (address >> self.alignment) % FILTER_BITS;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn may_contain(&self, word: u64) -> bool {
        let (index, mask) = self.bit(word);
        word.trailing_zeros() >= self.alignment && self.bits[index] & mask != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_most_wakers_counts() {
        let references = |before_vtable, after_vtable| References {
            before_vtable,
            after_vtable,
            ..References::default()
        };
        let found = HashMap::from([
            (1, references(vec![8], vec![16])),
            (2, references(vec![], vec![24])),
        ]);
        assert_eq!(
            wakers(&found),
            HashMap::from([(1, vec![16]), (2, vec![24])])
        );
    }
}
