//! Maps pages of a memory into a running program. Reading a page through the program's address space maps
//! the page for the program, so that none of its threads waits for that. Only the recorder's memory is
//! read, and the bytes are not used.
//!
//! Where the kernel does not permit this, for example if it lets only debuggers read a program's memory,
//! the threads wait themselves.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use ctp_nostd::layout::{Attach, LaneRecord};

use crate::memory::shm::Memory;
use crate::proc::maps;
use crate::proc::process;

/// The mapping in the process that attached last. It is searched for once.
#[derive(Debug, Default)]
pub struct Mapped {
    /// The row of that process in the table of attached processes, and its pid.
    of: Option<(usize, u32)>,
    mapping: Option<Mapping>,
}

#[derive(Debug)]
struct Mapping {
    /// The address space of the process.
    addresses: File,
    /// The address at which the memory begins.
    begin: u64,
}

impl Mapped {
    /// Maps the page of the first of these records.
    pub fn touch(&mut self, memory: &Memory, records: &[LaneRecord]) {
        let latest = latest(memory.region().attaches);
        if self.of != latest {
            self.of = latest;
            self.mapping = latest.and_then(|(_, pid)| Mapping::find(pid, memory.inode()));
        }
        let offset = memory.offset_of(records) as u64;
        let is_mapped = self
            .mapping
            .as_ref()
            .is_none_or(|mapping| mapping.touch(offset));
        if !is_mapped {
            self.mapping = None; // The process has exited or runs another program.
        }
    }
}

fn latest(attached: &[Attach]) -> Option<(usize, u32)> {
    let rows = attached.iter().map_while(Attach::pid).enumerate();
    rows.last()
}

impl Mapping {
    fn find(pid: u32, inode: u64) -> Option<Self> {
        let addresses = process::open_memory(pid).ok()?;
        let text = maps::text_of(pid).ok()?;
        let begin = maps::begin_of(&text, inode)?;
        Some(Mapping { addresses, begin })
    }

    fn touch(&self, offset: u64) -> bool {
        let read = self.addresses.read_at(&mut [0], self.begin + offset);
        read.is_ok_and(|bytes| 0 < bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KiB of the memory's own mapping in this process's page tables.
    fn mapped_kib(inode: u64) -> u64 {
        let text = std::fs::read_to_string("/proc/self/smaps").expect("own maps");
        let is_mapping =
            |line: &&str| line.split_ascii_whitespace().nth(4) == Some(&inode.to_string());
        let mut lines = text.lines().skip_while(|line| !is_mapping(line));
        let rss = lines.find_map(|line| line.strip_prefix("Rss:"));
        let words = rss.and_then(|rest| rest.split_ascii_whitespace().next());
        words.expect("its size").parse().expect("a number")
    }

    // LT-12
    #[test]
    fn touched_page_is_mapped_for_the_process() {
        let memory = Memory::of_two_lanes();
        let ring = memory.region().ring(1).expect("the second lane");
        let Some(mapping) = Mapping::find(std::process::id(), memory.inode()) else {
            return eprintln!("skipped: this kernel does not let a process read another's memory");
        };
        let before = mapped_kib(memory.inode());
        assert!(mapping.touch(memory.offset_of(ring.places(0..1)) as u64));
        assert!(before < mapped_kib(memory.inode()));
        assert!(
            Mapping::find(std::process::id(), 0).is_none(),
            "no such file"
        );
    }
}
