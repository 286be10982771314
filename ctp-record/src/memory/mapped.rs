//! A recorder's memory where a program has it mapped. A page that is read there from outside is then
//! mapped for the program too, so that none of its threads waits for that. Nothing is read but this
//! memory, and what it says is not used.
//!
//! Where the kernel does not allow it, as where it lets nobody but a debugger look at a program, threads
//! wait themselves.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use ctp_nostd::layout::{Attach, LaneRecord};

use crate::memory::shm::Memory;
use crate::proc::maps;
use crate::proc::process;

/// In the process that attached last, which is looked for once.
#[derive(Debug, Default)]
pub struct Mapped {
    /// Its row in the table of those that attached, and its number.
    of: Option<(usize, u32)>,
    there: Option<There>,
}

#[derive(Debug)]
struct There {
    /// Of that process.
    addresses: File,
    /// The address at which the memory begins.
    begin: u64,
}

impl Mapped {
    /// Has the page of the first of these records mapped.
    pub fn touch(&mut self, memory: &Memory, records: &[LaneRecord]) {
        let latest = latest(memory.region().attaches);
        if self.of != latest {
            self.of = latest;
            self.there = latest.and_then(|(_, pid)| There::find(pid, memory.inode()));
        }
        let offset = memory.offset_of(records) as u64;
        let is_there = self.there.as_ref().is_none_or(|there| there.touch(offset));
        if !is_there {
            self.there = None; // it has ended, or is another program now
        }
    }
}

fn latest(attached: &[Attach]) -> Option<(usize, u32)> {
    let rows = attached.iter().map_while(Attach::pid).enumerate();
    rows.last()
}

impl There {
    fn find(pid: u32, inode: u64) -> Option<Self> {
        let addresses = process::open_memory(pid).ok()?;
        let text = maps::text_of(pid).ok()?;
        let begin = maps::begin_of(&text, inode)?;
        Some(There { addresses, begin })
    }

    fn touch(&self, offset: u64) -> bool {
        let read = self.addresses.read_at(&mut [0], self.begin + offset);
        read.is_ok_and(|bytes| 0 < bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many KiB of the memory's own mapping are in this process's page tables.
    fn mapped_kib(inode: u64) -> u64 {
        let text = std::fs::read_to_string("/proc/self/smaps").expect("own maps");
        let is_it = |line: &&str| line.split_ascii_whitespace().nth(4) == Some(&inode.to_string());
        let mut lines = text.lines().skip_while(|line| !is_it(line));
        let rss = lines.find_map(|line| line.strip_prefix("Rss:"));
        let words = rss.and_then(|rest| rest.split_ascii_whitespace().next());
        words.expect("its size").parse().expect("a number")
    }

    // LT-12
    #[test]
    fn a_page_that_is_touched_is_mapped_where_the_process_has_the_memory() {
        let memory = Memory::of_two_lanes();
        let ring = memory.region().ring(1).expect("the second lane");
        let Some(there) = There::find(std::process::id(), memory.inode()) else {
            return eprintln!("skipped: this kernel lets nobody look at a program");
        };
        let before = mapped_kib(memory.inode());
        assert!(there.touch(memory.offset_of(ring.places(0..1)) as u64));
        assert!(before < mapped_kib(memory.inode()));
        assert!(There::find(std::process::id(), 0).is_none(), "no such file");
    }
}
