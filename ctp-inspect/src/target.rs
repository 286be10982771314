//! [`Target`]: what is inspected, either a process or a core file.

pub mod denial;
pub mod error;
pub mod image;
pub mod mapping;
pub mod process;

mod epoll;
mod page_map;
pub(crate) mod read_parts;
mod status;

use std::ops::Range;

use ctp_trace::record::Nanos;

use crate::target::error::TargetError;
use crate::target::mapping::Mapping;
use crate::threads::ThreadSample;

/// A process or a core file: memory, and what the kernel says about it.
///
/// The memory may change between two reads, and any of its bytes may be hostile.
pub trait Target {
    /// Id of the process in the reader's namespace; in a core file, that of the process that died.
    fn pid(&self) -> u32;

    /// Path of the executable as the kernel prints it. The path may end in ` (deleted)`.
    fn exe(&self) -> &[u8];

    /// The mappings, sorted by address, as of the last [`refresh`](Self::refresh).
    fn mappings(&self) -> &[Mapping];

    /// Copies memory into `buffer`. Returns how many bytes could be read from `address` on: fewer than
    /// requested if a page is missing, 0 if the process has exited.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// The parts of private memory that were ever used. The program has written nothing to the rest.
    fn populated(&self, range: Range<u64>) -> Vec<Range<u64>> {
        vec![range]
    }

    /// The time of `CLOCK_MONOTONIC`; in a core file, 0.
    fn now(&self) -> Nanos;

    /// Reads the mappings again. Does nothing for a core file.
    ///
    /// # Errors
    /// The process has exited or runs another program by now.
    fn refresh(&mut self) -> Result<(), TargetError>;

    /// The stack pointers of the threads that are not running. The kernel gives none for a running thread.
    fn stack_pointers(&self) -> Vec<StackPointer>;

    /// The descriptors that the process watches by epoll. Empty for a core file.
    fn epoll_interests(&self) -> Vec<EpollInterest>;

    /// The threads by the kernel's ids, in ascending order.
    fn thread_ids(&self) -> Vec<u32>;

    /// What a thread does; `None` if it has exited.
    fn thread(&self, tid: u32) -> Option<ThreadSample>;

    /// Path of the core file; empty for a running process.
    fn core_file(&self) -> &[u8] {
        b""
    }

    /// The path at which the calling process can open the file of a mapping.
    fn readable_path(&self, mapping: &Mapping) -> Vec<u8> {
        mapping.path.clone()
    }

    /// What the target cannot provide, as sentences for the report.
    fn gaps(&self) -> Vec<String> {
        Vec::new()
    }

    /// The 64-bit word at `address`, if it can be read.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
    }

    /// Fills `words` from `address` on. Returns whether all of them could be read.
    fn words(&self, address: u64, words: &mut [u64]) -> bool {
        let mut bytes = vec![0; words.len() * 8];
        let is_whole = self.read(address, &mut bytes) == bytes.len();
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        is_whole
    }

    /// The mapping that contains `address`.
    fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        mapping::find(self.mappings(), address)
    }
}

/// Where a thread's stack is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackPointer {
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The stack pointer. The used part of the stack extends from here to higher addresses.
    pub address: u64,
}

/// A descriptor that a process watches by epoll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpollInterest {
    /// The descriptor, as it was when it was registered.
    pub fd: u32,
    /// The value that the program registered with the descriptor, often an address.
    pub data: u64,
}
