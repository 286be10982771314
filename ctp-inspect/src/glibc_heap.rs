//! [`Heaps`]: which memory of glibc's allocator is in use.
//!
//! A heap of glibc is a sequence of chunks without gaps. Each begins with two words: one that belongs to the chunk
//! before, and the size of the chunk with three flags in the low bits. Whether a chunk is in use is a flag in the next
//! chunk. The last chunk is the top, from which new chunks are cut.
//!
//! Chunks in a thread cache and in a fast bin look as if they were in use. But `free` overwrites the first word of
//! their memory with a link that is not the address of code. So where the first word is still the address of a
//! function, the chunk was not freed since. From 2.32 on, the link is not 0 either, since it is combined with the
//! address at which it lies.

pub mod region;

mod glibc_version;
mod window;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::glibc_heap::region::Region;
use crate::glibc_heap::window::MemoryWindow;
use crate::target::Target;

/// Bytes before the memory of a chunk.
pub const HEADER_BYTES: u64 = 16;
const FLAGS: u64 = 7;
const PREVIOUS_IN_USE: u64 = 1;
const IS_MAPPED: u64 = 2;
const MIN_CHUNK_BYTES: u64 = 32;
const PAGE: u64 = 4096;
/// At the end of a heap that is no longer the last of its arena, there are two small chunks that are never freed.
const MAX_END_BYTES: u64 = 48;
/// From this version on, links in thread caches and fast bins are never 0.
const HAS_SAFE_LINKS: u32 = 32;
/// A link is combined with its own address without this many low bits.
const LINK_SHIFT: u32 = 12;
/// A process that allocates meanwhile may change a chunk between two reads.
const MAX_WALKS: u32 = 3;
/// How far the end of the first heap may move up while it is read.
const MAX_GROWTH: u64 = 1 << 30;
/// The maximum number of chunks of a heap.
const MAX_CHUNKS: u64 = 1 << 26;

/// The heaps of a process with glibc.
pub struct Heaps<'t> {
    target: &'t dyn Target,
    /// The version after `2.`; `None` if the process has another C library.
    version: Option<u32>,
}

/// A chunk of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Where the memory of the chunk begins, after its header.
    pub memory: u64,
    /// Bytes of the chunk.
    pub bytes: u64,
    /// The chunk is neither free nor the top.
    pub is_in_use: bool,
}

impl Chunk {
    /// The addresses of the chunk's memory.
    pub fn range(self) -> Range<u64> {
        let bytes = self.bytes.saturating_sub(HEADER_BYTES / 2);
        self.memory..self.memory.saturating_add(bytes)
    }

    /// Whether the allocator may have made this chunk for a value of this size: a chunk is at most 16 bytes larger than
    /// it has to be, or a few pages if it is a mapping of its own.
    pub fn is_made_for(self, size: u64) -> bool {
        let needed = size.saturating_add(HEADER_BYTES / 2);
        let needed = needed.next_multiple_of(16).max(MIN_CHUNK_BYTES);
        let is_mapped = self.bytes.is_multiple_of(PAGE) && self.memory % PAGE == HEADER_BYTES;
        let most = if is_mapped { 2 * PAGE } else { 16 };
        (needed..=needed.saturating_add(most)).contains(&self.bytes)
    }
}

impl<'t> Heaps<'t> {
    /// Finds out whether the process has glibc.
    pub fn of(target: &'t dyn Target) -> Self {
        Heaps {
            target,
            version: glibc_version::find(target),
        }
    }

    /// Whether `free` was called for the memory of a chunk that looks as if it were in use: the first word is a link,
    /// combined with its own address, to the next chunk of the same size. `None` if links look like other words,
    /// because this version does not combine them.
    pub fn is_released(&self, chunk: Chunk) -> Option<bool> {
        if !self.have_safe_links() {
            return None;
        }
        let Some(word) = self.target.word(chunk.memory) else {
            return Some(true);
        };
        let next = word ^ (chunk.memory >> LINK_SHIFT);
        Some(next == 0 || next.is_multiple_of(16) && self.is_of_size(next, chunk.bytes))
    }

    /// Whether an address is that of a chunk of this size: of its memory, as in thread caches, or of its header, as in
    /// fast bins.
    fn is_of_size(&self, address: u64, bytes: u64) -> bool {
        let sizes = [address.checked_sub(8), address.checked_add(8)];
        let mut words = sizes.into_iter().flatten();
        words.any(|at| {
            let size = self.target.word(at);
            size.is_some_and(|size| size & !FLAGS == bytes)
        })
    }

    /// Whether the process has glibc at all.
    pub fn are_known(&self) -> bool {
        self.version.is_some()
    }

    /// Whether the first word of freed memory is never 0.
    pub fn have_safe_links(&self) -> bool {
        self.version
            .is_some_and(|version| HAS_SAFE_LINKS <= version)
    }

    /// The chunks that contain these addresses, by address. Addresses are missing if nothing is known about them.
    /// `addresses` are sorted.
    pub fn chunks(&self, addresses: &[u64]) -> BTreeMap<u64, Chunk> {
        let mut chunks = BTreeMap::new();
        let mut rest = if self.are_known() { addresses } else { &[] };
        while let Some(first) = rest.first() {
            let region = Region::containing(self.target, *first);
            let end = region
                .as_ref()
                .map_or(first + 1, |region| region.addresses.end);
            let (inside, others) =
                rest.split_at(rest.partition_point(|address| *address < end).max(1));
            match region {
                Some(region) => self.walk_region(&region, inside, &mut chunks),
                None => chunks.extend(self.mapped(*first).map(|chunk| (*first, chunk))),
            }
            rest = others;
        }
        chunks
    }

    /// Walks until the chunks of a region make sense.
    fn walk_region(&self, region: &Region, addresses: &[u64], chunks: &mut BTreeMap<u64, Chunk>) {
        let starts = || region.starts(self.target).into_iter();
        let mut walks = (0..MAX_WALKS).flat_map(|_| starts());
        let found = walks.find_map(|start| self.walk(region, start, addresses));
        let found = found.unwrap_or_default();
        chunks.extend(addresses.iter().copied().zip(found));
    }

    /// The chunk of each address. `None` if the chunks do not lead to the end of the region.
    fn walk(&self, region: &Region, start: u64, addresses: &[u64]) -> Option<Vec<Chunk>> {
        let mut window = MemoryWindow::new(self.target);
        let mut found = Vec::with_capacity(addresses.len());
        let mut at = start;
        for _ in 0..MAX_CHUNKS {
            let bytes = window.word(at.checked_add(8)?)? & !FLAGS;
            let end = at.checked_add(bytes)?;
            if is_last(region, at, bytes) {
                found.resize(addresses.len(), Chunk::default());
                return Some(found);
            }
            if !is_size(bytes, region.addresses.end - at) || region.addresses.end <= end {
                return None;
            }
            let rest = &addresses[found.len()..];
            let inside = rest.partition_point(|address| *address < end);
            if 0 < inside {
                let next = window.word(end.checked_add(8)?)?;
                let chunk = Chunk {
                    memory: at + HEADER_BYTES,
                    bytes,
                    is_in_use: next & PREVIOUS_IN_USE != 0,
                };
                found.resize(found.len() + inside, chunk);
            }
            at = end;
        }
        None
    }

    /// The chunk that begins at this address, if the chunk is a mapping of its own. It is unmapped when it is freed.
    fn mapped(&self, memory: u64) -> Option<Chunk> {
        let start = memory.checked_sub(HEADER_BYTES)?;
        let mut header = [0; 2];
        if !start.is_multiple_of(PAGE) || !self.target.words(start, &mut header) {
            return None;
        }
        let [previous, size] = header;
        let bytes = size & !FLAGS;
        let end = start.checked_add(bytes)?;
        let is_inside = self
            .target
            .mapping_at(start)
            .is_some_and(|mapping| end <= mapping.end && !mapping.has_file());
        let is_mapped = size & FLAGS == IS_MAPPED && previous == 0;
        (is_mapped && 0 < bytes && bytes.is_multiple_of(PAGE) && is_inside).then_some(Chunk {
            memory,
            bytes,
            is_in_use: true,
        })
    }
}

/// Whether a chunk has this size. Only the chunks at the end of a heap are smaller than the others.
fn is_size(bytes: u64, to_end: u64) -> bool {
    let is_at_end = to_end <= MAX_END_BYTES && bytes == HEADER_BYTES;
    bytes.is_multiple_of(16) && (MIN_CHUNK_BYTES <= bytes || is_at_end)
}

/// Whether the heap ends with this chunk: the top, or the last of the small chunks at the end. The top of the first
/// heap may have grown since the mappings were read.
fn is_last(region: &Region, at: u64, bytes: u64) -> bool {
    let (end, to_end) = (at.saturating_add(bytes), region.addresses.end - at);
    let growth = end.saturating_sub(region.addresses.end);
    let has_grown =
        region.can_grow && 0 < growth && growth < MAX_GROWTH && end.is_multiple_of(PAGE);
    let is_small_end = bytes == 0 && to_end <= MIN_CHUNK_BYTES;
    end == region.addresses.end && MIN_CHUNK_BYTES <= bytes || has_grown || is_small_end
}
