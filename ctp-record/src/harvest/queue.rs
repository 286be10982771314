//! Copies of a lane's records that wait for their turn, so that the lane has room again.

use std::collections::VecDeque;
use std::io;

use ctp_nostd::lane::{Copied, MOST_WORDS, Word};
use memmap2::MmapMut;

/// Oldest first, in blocks that are used again.
#[derive(Debug, Default)]
pub(super) struct Queue {
    blocks: VecDeque<Block>,
    /// In the first block.
    oldest: Place,
    records: usize,
    words: usize,
}

/// Where a record begins in a block.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    words: usize,
    /// Time of the record before it.
    before_ns: u64,
}

/// The oldest record, and where the one behind it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub copied: Copied,
    behind: Place,
}

/// Room for some records, which goes back to the kernel after a burst. In small pages: large ones are
/// given sooner, but not where a virtual machine has lent its free memory to its host.
#[derive(Debug)]
struct Block {
    map: MmapMut,
    records: usize,
    end: Place,
}

const BLOCK_BYTES: usize = 256 << 10;
const WORD_BYTES: usize = size_of::<Word>();

/// Of the longest record.
pub(super) const MOST_BYTES: usize = MOST_WORDS * WORD_BYTES;

impl Block {
    fn new() -> io::Result<Self> {
        Ok(Block {
            map: MmapMut::map_anon(BLOCK_BYTES)?,
            records: 0,
            end: Place::default(),
        })
    }

    fn is_full(&self) -> bool {
        self.map.len() - self.end.words * WORD_BYTES < MOST_BYTES
    }

    /// Adds what this gives, at most so many. Gives how many there were.
    fn fill(&mut self, at_most: usize, next: &mut impl FnMut() -> Option<Copied>) -> usize {
        let before = self.records;
        while self.records - before < at_most
            && !self.is_full()
            && let Some(copied) = next()
        {
            let (words, _) = self.map.as_chunks_mut();
            let packed = copied.pack(self.end.before_ns, &mut words[self.end.words..]);
            self.end.words += packed.expect("it is not full");
            self.end.before_ns = copied.read().0;
            self.records += 1;
        }
        self.records - before
    }

    #[inline]
    fn get(&self, place: Place) -> Option<Front> {
        let (words, _) = self.map.as_chunks();
        let words = words.get(place.words..self.end.words)?;
        let (copied, length) = Copied::unpack(place.before_ns, words)?;
        let behind = Place {
            words: place.words + length,
            before_ns: copied.read().0,
        };
        Some(Front { copied, behind })
    }
}

/// Blocks of all queues that hold nothing.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Block>);

/// 4 MiB.
const MOST_SPARE: usize = 16;

impl Spare {
    fn take(&mut self) -> io::Result<Block> {
        self.0.pop().map_or_else(Block::new, Ok)
    }

    fn put(&mut self, mut block: Block) {
        if self.0.len() < MOST_SPARE {
            (block.records, block.end) = (0, Place::default());
            self.0.push(block);
        }
    }

    /// Takes those of another one.
    pub fn add(&mut self, other: &mut Spare) {
        other.0.drain(..).for_each(|block| self.put(block));
    }
}

impl Queue {
    /// Records that wait.
    pub fn len(&self) -> usize {
        self.records
    }

    /// How much room they take.
    pub fn bytes(&self) -> u64 {
        (self.words * WORD_BYTES) as u64
    }

    /// The oldest.
    #[inline]
    pub fn front(&self) -> Option<Front> {
        self.blocks.front()?.get(self.oldest)
    }

    /// Adds what this gives, at most so many. True if it gave nothing more.
    pub fn fill(
        &mut self,
        at_most: usize,
        spare: &mut Spare,
        mut next: impl FnMut() -> Option<Copied>,
    ) -> bool {
        let end = self.records.saturating_add(at_most);
        while self.records < end {
            let Ok(mut block) = self.last_with_room(spare) else {
                return false;
            };
            let before = block.end.words;
            self.records += block.fill(end - self.records, &mut next);
            self.words += block.end.words - before;
            let had_no_more = self.records < end && !block.is_full();
            match block.records {
                0 => spare.put(block),
                _ => self.blocks.push_back(block),
            }
            if had_no_more {
                return true;
            }
        }
        false
    }

    /// The last block, or a new one behind it.
    fn last_with_room(&mut self, spare: &mut Spare) -> io::Result<Block> {
        match self.blocks.pop_back() {
            Some(block) if !block.is_full() => Ok(block),
            full => {
                self.blocks.extend(full);
                spare.take()
            }
        }
    }

    /// Moves all of another one, from which nothing was taken, behind this.
    pub fn append(&mut self, later: &mut Queue) {
        self.blocks.append(&mut later.blocks);
        self.records += std::mem::take(&mut later.records);
        self.words += std::mem::take(&mut later.words);
    }

    /// Takes away the oldest.
    #[inline]
    pub fn pop(&mut self, front: &Front, spare: &mut Spare) {
        self.records -= 1;
        self.words -= front.behind.words - self.oldest.words;
        self.oldest = front.behind;
        let is_used_up = |block: &Block| block.end.words <= self.oldest.words;
        if self.blocks.front().is_some_and(is_used_up)
            && let Some(block) = self.blocks.pop_front()
        {
            self.oldest = Place::default();
            spare.put(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_out_is_what_went_in_and_no_more_than_there_was_room_for() {
        const RECORDS: u64 = 100_000;
        let (mut queue, mut spare) = (Queue::default(), Spare::default());
        let mut given = 0..RECORDS;
        let mut source = || given.next().map(numbered);
        assert!(!queue.fill(70_000, &mut spare, &mut source));
        assert_eq!(queue.len(), 70_000);
        let mut later = Queue::default();
        assert!(later.fill(70_000, &mut spare, &mut source));
        queue.append(&mut later);
        for number in 0..RECORDS {
            let front = queue.front().expect("there is one more");
            assert_eq!(front.copied, numbered(number));
            queue.pop(&front, &mut spare);
        }
        assert!((queue.len(), queue.bytes()) == (0, 0) && queue.front().is_none());
    }

    /// Every third one is long.
    fn numbered(number: u64) -> Copied {
        let words = match number % 3 {
            0 => [u64::MAX, number, 0, number],
            _ => [number, number, 0, 0],
        };
        let (copied, _) = Copied::unpack(0, &words.map(u64::to_le_bytes)).expect("all is there");
        copied
    }
}
