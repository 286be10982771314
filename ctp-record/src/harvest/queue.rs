//! Copies of a lane's records that wait for their turn, so that the lane has room again.

use std::collections::VecDeque;
use std::io;

use ctp_nostd::lane::Copied;
use memmap2::MmapMut;

/// Oldest first, in blocks that are used again.
#[derive(Debug, Default)]
pub(super) struct Queue {
    blocks: VecDeque<Block>,
    /// Records of the first block that were taken.
    taken: usize,
    records: usize,
}

/// Room for some records, which goes back to the kernel after a burst. In small pages: large ones are
/// given sooner, but not where a virtual machine has lent its free memory to its host.
#[derive(Debug)]
struct Block {
    map: MmapMut,
    records: usize,
}

const RECORD_BYTES: usize = size_of::<Copied>();
/// 64 KiB.
const BLOCK_BYTES: usize = 2048 * RECORD_BYTES;

impl Block {
    fn new() -> io::Result<Self> {
        let map = MmapMut::map_anon(BLOCK_BYTES)?;
        Ok(Block { map, records: 0 })
    }

    fn capacity(&self) -> usize {
        self.map.len() / RECORD_BYTES
    }

    /// Adds what this gives, at most so many. Gives how many there were.
    fn fill(&mut self, at_most: usize, next: &mut impl FnMut() -> Option<Copied>) -> usize {
        let (places, _) = self.map.as_chunks_mut::<RECORD_BYTES>();
        let free = &mut places[self.records..];
        let copied = std::iter::from_fn(next).take(at_most);
        let filled = free.iter_mut().zip(copied);
        let count = filled.map(|(place, it)| *place = it.to_bytes()).count();
        self.records += count;
        count
    }

    #[inline]
    fn get(&self, index: usize) -> Option<Copied> {
        let (places, _) = self.map.as_chunks::<RECORD_BYTES>();
        let is_there = index < self.records;
        places
            .get(index)
            .filter(|_| is_there)
            .map(|bytes| Copied::from_bytes(*bytes))
    }
}

/// Blocks of all queues that hold nothing.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Block>);

/// 4 MiB.
const MOST_SPARE: usize = 64;

impl Spare {
    fn take(&mut self) -> io::Result<Block> {
        self.0.pop().map_or_else(Block::new, Ok)
    }

    fn put(&mut self, mut block: Block) {
        if self.0.len() < MOST_SPARE {
            block.records = 0;
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

    /// The oldest.
    #[inline]
    pub fn front(&self) -> Option<Copied> {
        self.blocks.front()?.get(self.taken)
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
            let room = (block.capacity() - block.records).min(end - self.records);
            let added = block.fill(room, &mut next);
            self.records += added;
            match block.records {
                0 => spare.put(block),
                _ => self.blocks.push_back(block),
            }
            if added < room {
                return true;
            }
        }
        false
    }

    /// The last block, or a new one behind it.
    fn last_with_room(&mut self, spare: &mut Spare) -> io::Result<Block> {
        match self.blocks.pop_back() {
            Some(block) if block.records < block.capacity() => Ok(block),
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
    }

    /// Takes away the oldest.
    #[inline]
    pub fn pop(&mut self, spare: &mut Spare) {
        self.taken += 1;
        self.records -= 1;
        let is_used_up = |block: &Block| block.records <= self.taken;
        if self.blocks.front().is_some_and(is_used_up)
            && let Some(block) = self.blocks.pop_front()
        {
            self.taken = 0;
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
            assert_eq!(queue.front(), Some(numbered(number)));
            queue.pop(&mut spare);
        }
        assert_eq!((queue.len(), queue.front()), (0, None));
    }

    fn numbered(number: u64) -> Copied {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Copied::from_bytes(bytes)
    }
}
