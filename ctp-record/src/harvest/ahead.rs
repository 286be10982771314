//! Empty blocks for copies, made before they are wanted: to have fresh memory takes nearly as long as to
//! copy into it, and who copies what a program does flat out is to do nothing else.

use std::sync::Mutex;

use super::copies::{Copies, locked};
use super::queue::Block;

/// Makes them.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// One that was not done when there was no more time, and how many of its pages it has.
    begun: Option<(Block, usize)>,
}

impl Ahead {
    /// Makes as many as are wanted, as far as there is time. Nobody is kept waiting for longer than one
    /// page takes: it holds no lock meanwhile.
    pub fn get_ready(&mut self, copies: &Mutex<Copies>, has_time: impl Fn() -> bool) {
        while has_time() && locked(copies).want_blocks() {
            let Some(block) = self.make(&has_time) else {
                return;
            };
            locked(copies).add_block(block);
        }
    }

    /// One with all of its pages, if there is time for that.
    fn make(&mut self, has_time: impl Fn() -> bool) -> Option<Block> {
        let fresh = || Some((Block::new().ok()?, 0));
        let (mut block, mut pages) = self.begun.take().or_else(fresh)?;
        while has_time() {
            if !block.touch(pages) {
                return Some(block);
            }
            pages += 1;
        }
        self.begun = Some((block, pages));
        None
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::super::queue::{BLOCK_BYTES, MOST_BYTES, MOST_SPARE, PAGE_BYTES};
    use super::*;

    const PAGES: usize = BLOCK_BYTES / PAGE_BYTES;
    /// Records that a block holds.
    const A_BLOCK: usize = BLOCK_BYTES / MOST_BYTES;

    /// Those of one lane, and no empty block.
    fn of_one_lane(records: usize) -> Mutex<Copies> {
        let mut copies = Copies::default();
        copies.fill(records);
        Mutex::new(copies)
    }

    /// Pages that this thread was given so far, by the kernel's count.
    fn given_pages() -> usize {
        let stat = fs::read_to_string("/proc/thread-self/stat").expect("is there");
        let (_, behind_name) = stat.rsplit_once(") ").expect("it has a name");
        let minor_faults = behind_name.split(' ').nth(7).expect("is there");
        minor_faults.parse().expect("is a number")
    }

    #[test]
    fn as_many_are_made_as_were_filled_but_no_more_than_are_kept() {
        let ready = |records| {
            let copies = of_one_lane(records);
            Ahead::default().get_ready(&copies, || true);
            locked(&copies).ready()
        };
        let records = [A_BLOCK, 3 * A_BLOCK + 1, 99 * A_BLOCK];
        assert_eq!(records.map(ready), [0, 3, MOST_SPARE]);
    }

    #[test]
    fn one_for_which_there_was_no_time_is_done_when_there_is() {
        let (copies, mut ahead) = (of_one_lane(A_BLOCK + 1), Ahead::default());
        let mut ready_after = |looks: usize| {
            let left = Cell::new(looks);
            ahead.get_ready(&copies, || 0 < left.replace(left.get().saturating_sub(1)));
            locked(&copies).ready()
        };
        let half = PAGES / 2;
        assert_eq!([0, half, half, half].map(&mut ready_after), [0, 0, 0, 1]);
    }

    #[test]
    fn who_copies_into_those_waits_for_no_memory() {
        let copies = of_one_lane(5 * A_BLOCK);
        Ahead::default().get_ready(&copies, || true);
        let mut copies = locked(&copies);
        let before = given_pages();
        copies.fill(4 * A_BLOCK);
        let given = given_pages() - before;
        assert!(given < PAGES, "{given} of {}", 4 * PAGES);
        assert_eq!(copies.ready(), 0);
    }
}
