//! [`CollectedWords`]: words that may be addresses of tasks, collected before it is known which addresses are.
//!
//! Which words are addresses of tasks is known only after a pass over memory. A second pass over all memory would take
//! as long again.

use std::ops::Range;

use crate::scan::MemoryPiece;
use crate::target::Target;

/// At most this many words of each kind are collected.
const MAX_WORDS: usize = 1 << 20;

/// Words that may be addresses of tasks.
#[derive(Debug, Default)]
pub struct CollectedWords {
    /// Words followed by a vtable of wakers.
    pub before_vtable: Vec<CollectedWord>,
    /// Words that follow a vtable of wakers.
    pub after_vtable: Vec<CollectedWord>,
    /// Words that are equal to the word before.
    pub repeated: Vec<CollectedWord>,
    /// Words were left out because of a limit.
    pub is_cut: bool,
}

/// A word of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectedWord {
    /// Where the word is.
    pub at: u64,
    /// The word.
    pub word: u64,
}

impl CollectedWords {
    /// Adds the words before and after the vtable of wakers at an address, if they are within `span`.
    pub fn add_neighbours(
        &mut self,
        (target, piece): (&dyn Target, &MemoryPiece<'_>),
        at: u64,
        previous: u64,
        span: &Range<u64>,
    ) {
        let before = at.checked_sub(8).filter(|_| span.contains(&previous));
        let before = before.map(|at| CollectedWord { at, word: previous });
        add(&mut self.before_vtable, before, &mut self.is_cut);
        let after = at.checked_add(8).and_then(|at| {
            let word = piece.word(at).or_else(|| target.word(at))?;
            span.contains(&word).then_some(CollectedWord { at, word })
        });
        add(&mut self.after_vtable, after, &mut self.is_cut);
    }

    /// Adds a word that is equal to the word before.
    pub fn add_repeated(&mut self, at: u64, word: u64) {
        let repeated = Some(CollectedWord { at, word });
        add(&mut self.repeated, repeated, &mut self.is_cut);
    }
}

fn add(words: &mut Vec<CollectedWord>, word: Option<CollectedWord>, is_cut: &mut bool) {
    if words.len() < MAX_WORDS {
        words.extend(word);
    } else {
        *is_cut = true;
    }
}
