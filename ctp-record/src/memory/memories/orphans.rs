//! Forks that outlive the process they come from. Until such a fork has memory of its own it shares that
//! of the process that ended, and counts itself there if it cannot reach the recorder. So the headers of
//! those memories are kept, while all else of them is given back to the kernel.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::memory::shm::{LeftHeader, Memory};

/// Headers of memories that were given up, the latest last.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    headers: VecDeque<LeftHeader>,
    /// Counted in headers that are not kept any more.
    unreached: u32,
}

/// Of so many processes that ended, the latest, headers are kept: a page each.
const MOST_HEADERS: usize = 256;

impl Orphans {
    /// Keeps the header of a memory that is given up.
    pub fn keep_header(&mut self, memory: Arc<Memory>) {
        // Without room for one page, forks of this process go uncounted.
        let header = memory.header_alone();
        self.headers.extend(header);
        if let Some(memory) = Arc::into_inner(memory) {
            memory.give_back_all_but_header();
        }
        if self.headers.len() > MOST_HEADERS
            && let Some(oldest) = self.headers.pop_front()
        {
            self.unreached = self.unreached.saturating_add(oldest.unreached());
        }
    }

    /// Forks that have counted themselves in these headers.
    pub fn unreached(&self) -> u32 {
        let kept = self.headers.iter().map(LeftHeader::unreached);
        kept.fold(self.unreached, u32::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTP-32
    #[test]
    fn forks_count_themselves_in_memory_that_was_given_up() {
        let mut orphans = Orphans::default();
        for number in 0..2 * MOST_HEADERS {
            let memory = Arc::new(Memory::of_two_lanes());
            let of_a_fork = memory.mapped_by_a_fork();
            memory.region().header.count_unreached();
            orphans.keep_header(memory);
            of_a_fork.header.count_unreached();
            assert_eq!(orphans.unreached() as usize, 2 * (number + 1));
        }
    }
}
