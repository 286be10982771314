//! [`Owners`]: what holds each boxed future.
//!
//! The box lies in the memory of a task, in a static variable, or in other memory of the heap. In the last case, the
//! words that lead to that memory are followed backwards, and the nearest answer counts if it is the only one.

mod spread;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::awaits::{AwaitReader, TaskFuture};
use crate::boxed::live::LiveBox;
use crate::boxed::memory_use::MemoryUse;
use crate::boxed::referrers::{Referrers, Searched};
use crate::glibc_heap::Chunk;
use crate::scan::Scan;
use crate::target::Target;
use spread::ChunkHolders;

/// How often memory is searched for words that lead to what the search before has found.
const MAX_SEARCHES: usize = 4;
/// The maximum number of chunks of memory that are searched for.
const MAX_CHUNKS: usize = 1 << 16;

/// What holds a boxed future.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// Nothing is known to lead to the box, or several things do.
    #[default]
    Unknown,
    /// The task at this address.
    Task(u64),
    /// A task that was not known when the search began.
    OtherTask,
    /// The boxed future at this address.
    Boxed(u64),
    /// A static variable, by its path.
    Static(String),
    /// The stack or the thread-local memory of a thread, by the kernel's id.
    Thread(u32),
}

/// Finds what holds boxed futures.
pub struct Owners<'o> {
    target: &'o dyn Target,
    awaits: &'o AwaitReader,
    tasks: &'o TaskMemory,
    boxes: &'o [LiveBox],
}

/// The memory of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskMemory {
    /// The memory of each task, sorted.
    pub ranges: Vec<Range<u64>>,
    /// How the futures of the tasks are read, by the address of the task.
    pub futures: BTreeMap<u64, TaskFuture>,
    /// The vtables of the tasks. Memory that begins with one of them is that of a task.
    pub vtables: BTreeSet<u64>,
}

impl TaskMemory {
    /// The task with an address in its memory.
    pub fn containing(&self, address: u64) -> Option<u64> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        let range = self.ranges[..after].last()?;
        range.contains(&address).then_some(range.start)
    }
}

/// The number of words at the start of a task with the vtable among them.
const HEADER_WORDS: usize = 4;

/// What memory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Belongs {
    To(Holder),
    /// A chunk that may be held by something.
    Chunk(Chunk),
    Unknown,
}

impl<'o> Owners<'o> {
    /// Prepares a search. `boxes` are sorted.
    pub fn new(
        (target, awaits): (&'o dyn Target, &'o AwaitReader),
        tasks: &'o TaskMemory,
        boxes: &'o [LiveBox],
    ) -> Self {
        Owners {
            target,
            awaits,
            tasks,
            boxes,
        }
    }

    /// What holds each of the boxes. `referrers` may have chunks already.
    pub fn find(
        &self,
        searched: &Searched<'_>,
        scan: &mut Scan,
        mut referrers: Referrers,
    ) -> Vec<Holder> {
        let chunks = self.search(searched, scan, &mut referrers);
        let holders = ChunkHolders::of(self, &chunks, &referrers);
        let boxes = self.boxes.iter();
        boxes.map(|live| self.holder(live, &holders)).collect()
    }

    /// Searches for what leads to the chunks with the boxes, and for what leads to that. Returns all chunks.
    fn search(
        &self,
        searched: &Searched<'_>,
        scan: &mut Scan,
        referrers: &mut Referrers,
    ) -> Vec<Chunk> {
        let pointers = self.boxes.iter().flat_map(|live| &live.pointers);
        let words = pointers.map(|(pointer, memory_use)| (pointer.at, *memory_use));
        let mut next: Vec<Chunk> = words.filter_map(|word| self.chunk(word)).collect();
        let (mut known, mut all) = (BTreeSet::new(), Vec::new());
        for _ in 0..MAX_SEARCHES {
            next.retain(|chunk| known.insert(chunk.memory));
            if next.is_empty() || MAX_CHUNKS < known.len() {
                break;
            }
            referrers.add(searched, scan, next.clone());
            let words = next.iter().flat_map(|chunk| referrers.of(*chunk));
            let new = words.filter_map(|word| self.chunk((word.at, word.memory_use)));
            let new = new.collect();
            all.append(&mut next);
            next = new;
        }
        all
    }

    /// The chunk with a word, unless it is that of a task or box.
    fn chunk(&self, word: (u64, MemoryUse)) -> Option<Chunk> {
        match self.belongs(word) {
            Belongs::Chunk(chunk) => Some(chunk),
            _ => None,
        }
    }

    /// What a word at an address belongs to.
    fn belongs(&self, (at, memory_use): (u64, MemoryUse)) -> Belongs {
        if let Some(task) = self.tasks.containing(at) {
            return Belongs::To(Holder::Task(task));
        }
        match memory_use {
            MemoryUse::Chunk(chunk) if self.is_box(chunk) => {
                Belongs::To(Holder::Boxed(chunk.memory))
            }
            MemoryUse::Chunk(chunk) => Belongs::Chunk(chunk),
            MemoryUse::Stack(tid) => Belongs::To(Holder::Thread(tid)),
            MemoryUse::Other => match self.awaits.static_at(self.target, at) {
                Some(found) => Belongs::To(Holder::Static(found.name)),
                None => Belongs::Unknown,
            },
        }
    }

    /// Whether a chunk has a task. If it is a known task, the address is not in its future.
    fn has_task(&self, chunk: Chunk) -> bool {
        let mut words = [0; HEADER_WORDS];
        let vtables = &self.tasks.vtables;
        let is_read = !vtables.is_empty() && self.target.words(chunk.memory, &mut words);
        is_read && words.iter().any(|word| vtables.contains(word))
    }

    fn is_box(&self, chunk: Chunk) -> bool {
        let found = self
            .boxes
            .binary_search_by_key(&chunk.memory, |of| of.address);
        found.is_ok()
    }

    /// What holds a box: directly, or else by the chunks with the box.
    fn holder(&self, live: &LiveBox, chunks: &ChunkHolders) -> Holder {
        let (mut direct, mut indirect) = (BTreeSet::new(), BTreeSet::new());
        for (pointer, memory_use) in &live.pointers {
            match self.belongs((pointer.at, *memory_use)) {
                Belongs::To(holder) if holder != Holder::Boxed(live.address) => {
                    direct.insert(holder);
                }
                Belongs::Chunk(chunk) => indirect.extend(chunks.of_chunk(chunk)),
                _ => {}
            }
        }
        if direct.is_empty() {
            only(indirect)
        } else {
            only(direct)
        }
    }
}

/// The only holder; unknown if there are several.
fn only(holders: BTreeSet<Holder>) -> Holder {
    let is_only = holders.len() == 1;
    let first = holders.into_iter().next();
    first.filter(|_| is_only).unwrap_or_default()
}
