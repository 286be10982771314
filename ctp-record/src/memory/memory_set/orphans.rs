//! Forks that outlive the process they come from. Until such a fork has a memory of its own, it shares the
//! memory of the exited process. If the fork cannot reach the recorder, it counts itself in the header
//! there. So these headers are kept, while the rest of the memory is returned to the kernel.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::memory::shm::{LeftHeader, Memory};

/// Headers of memories that were given up, latest last.
#[derive(Debug, Default)]
pub(super) struct OrphanHeaders {
    headers: VecDeque<LeftHeader>,
    /// The counts of headers that are no longer kept.
    unreached: u32,
}

/// Headers that are kept, of the latest exited processes: a page each.
const MAX_HEADERS: usize = 256;

impl OrphanHeaders {
    /// Keeps the header of a memory that is given up.
    pub fn keep_header(&mut self, memory: Arc<Memory>) {
        // If there is no room for the page, forks of this process are not counted.
        let header = memory.header_alone();
        self.headers.extend(header);
        if let Some(memory) = Arc::into_inner(memory) {
            memory.free_all_but_header();
        }
        if self.headers.len() > MAX_HEADERS
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
        let mut orphans = OrphanHeaders::default();
        for number in 0..2 * MAX_HEADERS {
            let memory = Arc::new(Memory::of_two_lanes());
            let of_a_fork = memory.mapped_by_a_fork();
            memory.region().header.count_unreached();
            orphans.keep_header(memory);
            of_a_fork.header.count_unreached();
            assert_eq!(orphans.unreached() as usize, 2 * (number + 1));
        }
    }
}
