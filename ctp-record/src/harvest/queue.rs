//! Queues of record copies that wait to be merged, so that lanes have room again.

use std::collections::VecDeque;
use std::io;

use ctp_nostd::lane::{Before, Copied, MAX_WORDS, Word};
use memmap2::MmapMut;

/// The copies of a lane, oldest first, in blocks that are reused.
#[derive(Debug, Default)]
pub(super) struct Queue {
    blocks: VecDeque<QueueBlock>,
    /// Where the oldest record begins, in the first block.
    oldest: BlockOffset,
    /// Where the record after the last shown record begins, in the first block.
    unseen: BlockOffset,
    records: usize,
    words: usize,
}

/// Where a record begins in a block.
#[derive(Clone, Copy, Debug, Default)]
struct BlockOffset {
    words: usize,
    before: Before,
}

impl BlockOffset {
    /// The record here, and its length in words.
    #[inline]
    fn read(&self, words: &[Word]) -> Option<(Copied, usize)> {
        self.before.unpack(words.get(self.words..)?)
    }

    /// Advances past a record of `words` words.
    #[inline]
    fn pass(&mut self, copied: &Copied, words: usize) {
        self.words += words;
        self.before.note(copied, words);
    }
}

/// Room for some records, returned to the kernel after a burst. Uses small pages: large pages are faster to
/// allocate, but not in a virtual machine that has returned its free memory to its host.
#[derive(Debug)]
struct QueueBlock {
    map: MmapMut,
    records: usize,
    end: BlockOffset,
}

const BLOCK_BYTES: usize = 256 << 10;
const WORD_BYTES: usize = size_of::<Word>();

/// Bytes of the longest record.
pub(super) const MAX_RECORD_BYTES: usize = MAX_WORDS * WORD_BYTES;

impl QueueBlock {
    fn new() -> io::Result<Self> {
        Ok(QueueBlock {
            map: MmapMut::map_anon(BLOCK_BYTES)?,
            records: 0,
            end: BlockOffset::default(),
        })
    }

    fn is_full(&self) -> bool {
        self.map.len() - self.end.words * WORD_BYTES < MAX_RECORD_BYTES
    }

    /// Adds records from `next`, at most `at_most`. Returns how many were added.
    #[inline(always)]
    fn fill(&mut self, at_most: usize, mut next: impl FnMut() -> Option<Copied>) -> usize {
        let (words, _) = self.map.as_chunks_mut();
        // Local copies stay in registers, which fields of `self` would not.
        let (mut end, mut added) = (self.end, 0);
        while added < at_most
            && let Some(room) = words[end.words..].first_chunk_mut()
            && let Some(copied) = next()
        {
            let packed = end.before.pack(&copied, room);
            end.pass(&copied, packed);
            added += 1;
        }
        self.end = end;
        self.records += added;
        added
    }

    fn words(&self) -> &[Word] {
        let (words, _) = self.map.as_chunks();
        words.get(..self.end.words).unwrap_or_default()
    }
}

/// Copies of the oldest records of a queue, read before it is known how many are taken.
#[derive(Debug, Default)]
pub(super) struct QueueWindow {
    room: Vec<Copied>,
    shown: usize,
}

/// Records that a window shows: few enough that they and their events stay in the L1 cache.
pub(super) const WINDOW_RECORDS: usize = 64;

impl QueueWindow {
    pub fn records(&self) -> &[Copied] {
        &self.room[..self.shown]
    }

    /// Room for at most `at_most` records, and no more than a window shows.
    fn room(&mut self, at_most: usize) -> &mut [Copied] {
        self.room.resize(WINDOW_RECORDS, Copied::default());
        &mut self.room[..at_most.min(WINDOW_RECORDS)]
    }
}

/// Empty blocks, shared by all queues.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<QueueBlock>);

/// Blocks kept for reuse: 4 MiB.
const MAX_SPARE_BLOCKS: usize = 16;

impl Spare {
    fn take(&mut self) -> io::Result<QueueBlock> {
        self.0.pop().map_or_else(QueueBlock::new, Ok)
    }

    fn put(&mut self, mut block: QueueBlock) {
        if self.0.len() < MAX_SPARE_BLOCKS {
            (block.records, block.end) = (0, BlockOffset::default());
            self.0.push(block);
        }
    }

    /// Takes the blocks of another `Spare`.
    pub fn add(&mut self, other: &mut Spare) {
        other.0.drain(..).for_each(|block| self.put(block));
    }
}

impl Queue {
    /// The number of waiting records.
    pub fn len(&self) -> usize {
        self.records
    }

    /// The bytes that the waiting records take.
    pub fn bytes(&self) -> u64 {
        (self.words * WORD_BYTES) as u64
    }

    /// The oldest record.
    pub fn front(&self) -> Option<Copied> {
        let (copied, _) = self.oldest.read(self.blocks.front()?.words())?;
        Some(copied)
    }

    /// Makes the window show the oldest records of the first block that are no later than `until`, at most
    /// `at_most`.
    #[inline(never)]
    pub fn show(&mut self, window: &mut QueueWindow, until: u64, at_most: usize) {
        let words = self.blocks.front().map_or(&[][..], QueueBlock::words);
        let (mut here, mut shown) = (self.oldest, 0);
        for room in window.room(at_most) {
            match here.read(words) {
                Some((copied, length)) if copied.at() <= until => {
                    *room = copied;
                    here.pass(&copied, length);
                }
                _ => break,
            }
            shown += 1;
        }
        (self.unseen, window.shown) = (here, shown);
    }

    /// Removes the first `count` of the records that the window shows.
    pub fn take(&mut self, count: usize, window: &mut QueueWindow, spare: &mut Spare) {
        if count < window.shown {
            self.show(window, u64::MAX, count);
        }
        self.records -= count;
        self.words -= self.unseen.words - self.oldest.words;
        self.oldest = self.unseen;
        let first = self.blocks.front();
        if first.is_some_and(|block| block.end.words == self.oldest.words) {
            self.oldest = BlockOffset::default();
            let empty = self.blocks.pop_front();
            empty.into_iter().for_each(|block| spare.put(block));
        }
    }

    /// Adds records from `next`, at most `at_most`. Returns true if `next` had no more. Stops early if there
    /// is no memory for a block.
    #[inline(always)]
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

    /// The last block, or a new block behind it.
    fn last_with_room(&mut self, spare: &mut Spare) -> io::Result<QueueBlock> {
        match self.blocks.pop_back() {
            Some(block) if !block.is_full() => Ok(block),
            full => {
                self.blocks.extend(full);
                spare.take()
            }
        }
    }

    /// Moves all records of another queue, from which nothing was taken, to the end of this queue.
    pub fn append(&mut self, later: &mut Queue) {
        self.blocks.append(&mut later.blocks);
        self.records += std::mem::take(&mut later.records);
        self.words += std::mem::take(&mut later.words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_returns_records_in_order_within_the_room() {
        const RECORDS: u64 = 100_000;
        let (mut queue, mut spare) = (Queue::default(), Spare::default());
        let mut given = 0..RECORDS;
        let mut source = || given.next().map(numbered);
        assert!(!queue.fill(70_000, &mut spare, &mut source));
        assert_eq!(queue.len(), 70_000);
        let mut later = Queue::default();
        assert!(later.fill(70_000, &mut spare, &mut source));
        queue.append(&mut later);
        let (mut window, mut numbers) = (QueueWindow::default(), 0..RECORDS);
        while queue.front().is_some() {
            queue.show(&mut window, u64::MAX, usize::MAX);
            // Sometimes takes fewer records than are shown.
            let taken = window.records().len().min(1 + numbers.start as usize % 100);
            let next = numbers.by_ref().take(taken).map(numbered);
            assert!(window.records()[..taken].iter().copied().eq(next));
            queue.take(taken, &mut window, &mut spare);
        }
        assert_eq!(numbers.start, RECORDS);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    }

    #[test]
    fn window_shows_due_records_up_to_the_limit() {
        let (mut queue, mut window) = (Queue::default(), QueueWindow::default());
        let shown = |queue: &mut Queue, window: &mut QueueWindow, until, at_most| {
            queue.show(window, until, at_most);
            window.records().len()
        };
        assert_eq!(shown(&mut queue, &mut window, u64::MAX, 1), 0);
        let mut given = (1..=100).map(|number| numbered(3 * number));
        queue.fill(100, &mut Spare::default(), || given.next());
        assert_eq!(shown(&mut queue, &mut window, 0, 9), 0);
        assert_eq!(shown(&mut queue, &mut window, numbered(15).at(), 9), 5);
        assert_eq!(shown(&mut queue, &mut window, numbered(15).at(), 3), 3);
        assert_eq!(
            shown(&mut queue, &mut window, u64::MAX, 100),
            WINDOW_RECORDS
        );
    }

    /// Every third record is long.
    fn numbered(number: u64) -> Copied {
        let words = match number % 3 {
            0 => [u64::MAX, number, 0, number],
            _ => [number, number, 0, 0],
        };
        let (copied, _) = Before::default()
            .unpack(&words.map(u64::to_le_bytes))
            .expect("all is there");
        copied
    }
}
