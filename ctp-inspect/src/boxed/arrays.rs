//! Boxes in vectors. When an element is removed, its bytes stay in the memory of the vector, behind the last element.

use crate::boxed::memory_use::MemoryUse;
use crate::boxed::pointers::BoxPointer;
use crate::boxed::referrers::Referrers;
use crate::glibc_heap::Chunk;
use crate::target::Target;

/// The maximum number of words with the address of an array that are read.
const MAX_REFERRERS: usize = 64;
/// The maximum size of an element in bytes.
const MAX_ELEMENT: u64 = 1024;
/// The size of a box in bytes, and the step between the sizes of elements that are tried.
const BOX_BYTES: u64 = 16;
const STEP: u64 = 8;

/// The fields of a vector or of a double-ended queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Array {
    capacity: u64,
    /// The index of the first element. 0 in a vector.
    head: u64,
    len: u64,
}

/// The vectors that have chunks as their memory.
pub struct Arrays<'a> {
    target: &'a dyn Target,
    referrers: &'a Referrers,
    /// What was read last: the address of a chunk's memory, and the vectors that may have it.
    last: (u64, Vec<Array>),
}

impl<'a> Arrays<'a> {
    /// Prepares to read the vectors with these referrers to their memory.
    pub fn new(target: &'a dyn Target, referrers: &'a Referrers) -> Self {
        Arrays {
            target,
            referrers,
            last: (0, Vec::new()),
        }
    }

    /// Whether a box may be an element. False if its memory belongs to a vector that has no element there.
    pub fn may_hold(&mut self, pointer: &BoxPointer, memory_use: MemoryUse) -> bool {
        let MemoryUse::Chunk(chunk) = memory_use else {
            return true;
        };
        if self.last.0 != chunk.memory {
            self.last = (chunk.memory, self.read(chunk));
        }
        let offset = pointer.at - chunk.memory;
        let arrays = self.last.1.iter();
        let answers = arrays.flat_map(|array| array.answers(chunk, offset));
        let answers: Vec<bool> = answers.collect();
        answers.is_empty() || answers.contains(&true)
    }

    fn read(&self, chunk: Chunk) -> Vec<Array> {
        let referrers = self.referrers.of(chunk).iter();
        let to_start = referrers.filter(|referrer| referrer.word == chunk.memory);
        let arrays = to_start.take(MAX_REFERRERS);
        arrays
            .flat_map(|referrer| arrays_at(self.target, referrer.at))
            .collect()
    }
}

/// What the words around the address of an array can mean.
fn arrays_at(target: &dyn Target, at: u64) -> Vec<Array> {
    let mut words = [0; 4];
    let is_read = at
        .checked_sub(8)
        .is_some_and(|start| target.words(start, &mut words));
    if !is_read {
        return Vec::new();
    }
    let [capacity, _, third, fourth] = words;
    let vector = Array {
        capacity,
        head: 0,
        len: third,
    };
    let queue = Array {
        capacity,
        head: third,
        len: fourth,
    };
    let possible = [vector, queue].into_iter();
    possible.filter(|array| array.is_possible()).collect()
}

impl Array {
    fn is_possible(self) -> bool {
        0 < self.capacity && self.head <= self.capacity && self.len <= self.capacity
    }

    /// Whether an element is at this offset, for each size of elements with which the array has the size of the chunk.
    fn answers(self, chunk: Chunk, offset: u64) -> Vec<bool> {
        let sizes = (BOX_BYTES..=MAX_ELEMENT).step_by(STEP as usize);
        let sizes = sizes.filter(|size| {
            let bytes = self.capacity.checked_mul(*size);
            bytes.is_some_and(|bytes| chunk.is_made_for(bytes))
        });
        sizes.map(|size| self.has_element(offset / size)).collect()
    }

    fn has_element(self, index: u64) -> bool {
        let from_head = if self.head <= index {
            index - self.head
        } else {
            index.saturating_add(self.capacity) - self.head
        };
        index < self.capacity && from_head < self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: Chunk = Chunk {
        memory: 0x1010,
        bytes: 80,
        is_in_use: true,
    };

    #[test]
    fn elements_end_with_the_length() {
        let vector = Array {
            capacity: 4,
            head: 0,
            len: 2,
        };
        let answers = [0, 16, 32, 48].map(|offset| vector.answers(CHUNK, offset));
        assert_eq!(answers.concat(), [true, true, false, false]);
        let other = Array {
            capacity: 16,
            ..vector
        };
        assert_eq!(other.answers(CHUNK, 32), []);
    }

    #[test]
    fn elements_of_a_queue_wrap_around() {
        let queue = Array {
            capacity: 4,
            head: 3,
            len: 2,
        };
        let answers = [0, 16, 32, 48].map(|offset| queue.answers(CHUNK, offset));
        assert_eq!(answers.concat(), [true, false, false, true]);
    }
}
