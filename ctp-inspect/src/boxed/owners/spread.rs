//! [`ChunkHolders`]: what holds each chunk, spread from the chunks with a known holder to those that they lead to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Belongs, Holder, Owners, only};
use crate::boxed::referrers::Referrers;
use crate::glibc_heap::Chunk;

/// What holds chunks, by the address of the chunk's memory.
#[derive(Debug, Default)]
pub(super) struct ChunkHolders {
    holders: BTreeMap<u64, Holder>,
}

/// What leads to chunks, by the address of the chunk's memory.
#[derive(Debug, Default)]
struct Edges {
    /// Tasks, boxed futures and static variables.
    owners: BTreeMap<u64, BTreeSet<Holder>>,
    threads: BTreeMap<u64, BTreeSet<Holder>>,
    /// The chunks that each chunk leads to.
    chunks: BTreeMap<u64, Vec<u64>>,
}

impl ChunkHolders {
    /// Finds the nearest holder of each chunk. A thread counts only if nothing else leads to the chunk.
    pub(super) fn of(owners: &Owners<'_>, chunks: &[Chunk], referrers: &Referrers) -> Self {
        let edges = Edges::of(owners, chunks, referrers);
        let mut found = ChunkHolders::default();
        found.spread(&edges.owners, &edges.chunks);
        found.spread(&edges.threads, &edges.chunks);
        found
    }

    /// What holds a chunk; `None` if nothing is known.
    pub(super) fn of_chunk(&self, chunk: Chunk) -> Option<Holder> {
        self.holders.get(&chunk.memory).cloned()
    }

    /// Goes from the chunks with these holders to the chunks that they lead to. Chunks that have a holder keep it.
    fn spread(&mut self, from: &BTreeMap<u64, BTreeSet<Holder>>, edges: &BTreeMap<u64, Vec<u64>>) {
        let mut next = from.clone();
        while !next.is_empty() {
            let mut after: BTreeMap<u64, BTreeSet<Holder>> = BTreeMap::new();
            next.retain(|chunk, _| !self.holders.contains_key(chunk));
            for (chunk, holders) in &next {
                self.holders.insert(*chunk, only(holders.clone()));
            }
            for chunk in next.keys() {
                let holder = &self.holders[chunk];
                for inner in edges.get(chunk).into_iter().flatten() {
                    after.entry(*inner).or_default().insert(holder.clone());
                }
            }
            next = after;
        }
    }
}

impl Edges {
    fn of(owners: &Owners<'_>, chunks: &[Chunk], referrers: &Referrers) -> Self {
        let mut edges = Edges::default();
        for chunk in chunks {
            if owners.has_task(*chunk) {
                let owners = edges.owners.entry(chunk.memory).or_default();
                owners.insert(Holder::OtherTask);
                continue;
            }
            for word in referrers.of(*chunk) {
                match owners.belongs((word.at, word.memory_use)) {
                    Belongs::To(thread @ Holder::Thread(_)) => {
                        edges
                            .threads
                            .entry(chunk.memory)
                            .or_default()
                            .insert(thread);
                    }
                    Belongs::To(holder) if !is_inside(owners, *chunk, &holder) => {
                        edges.owners.entry(chunk.memory).or_default().insert(holder);
                    }
                    Belongs::Chunk(outer) => {
                        edges
                            .chunks
                            .entry(outer.memory)
                            .or_default()
                            .push(chunk.memory);
                    }
                    _ => {}
                }
            }
        }
        edges
    }
}

/// Whether a chunk has the box of this future. The future may lead back to the chunk.
fn is_inside(owners: &Owners<'_>, chunk: Chunk, holder: &Holder) -> bool {
    let Holder::Boxed(address) = holder else {
        return false;
    };
    let boxes = owners.boxes;
    let found = boxes.binary_search_by_key(address, |of| of.address);
    found.is_ok_and(|index| {
        let pointers = boxes[index].pointers.iter();
        let mut chunks = pointers.filter_map(|(_, memory_use)| memory_use.chunk());
        chunks.any(|of| of.memory == chunk.memory)
    })
}
