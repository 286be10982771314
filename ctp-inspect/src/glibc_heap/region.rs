//! [`Region`]: memory with the chunks of an arena.
//!
//! The main arena has the memory that the kernel calls `[heap]`. The other arenas have heaps that begin at multiples of
//! 64 MiB, with a header: the address of the arena, the heap before, and the size of the heap. The arena itself lies
//! behind the header of its first heap.

use std::ops::Range;

use crate::target::Target;
use crate::target::mapping::Mapping;

/// The distance of heaps.
const HEAP_BYTES: u64 = 64 << 20;
const PAGE: u64 = 4096;
/// The size of the header of a heap: before 2.35, and since.
const HEADERS: [u64; 2] = [0x20, 0x30];
/// The size of an arena differs between versions, and is in this range.
const ARENA_BYTES: Range<u64> = 0x600..0xc00;
/// The flags of the first chunk of an arena: not of the main arena, and nothing free before.
const FIRST_CHUNK: u64 = 5;

/// Memory with the chunks of an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// From the first chunk, or before, to the end of the last.
    pub addresses: Range<u64>,
    /// The end may have moved up since the mappings were read.
    pub can_grow: bool,
    /// Where the first chunk may be.
    first: Range<u64>,
}

impl Region {
    /// The region with an address, if it is memory of an arena.
    pub fn containing(target: &dyn Target, address: u64) -> Option<Self> {
        let mapping = target.mapping_at(address)?;
        if mapping.path == b"[heap]" {
            return Some(main(target));
        }
        if mapping.has_file() {
            return None;
        }
        let of_arena = heap(target, address);
        let of_arena = of_arena.filter(|region| region.addresses.contains(&address));
        of_arena.or_else(|| unnamed_main(target, mapping))
    }

    /// Where the first chunk may begin.
    pub fn starts(&self, target: &dyn Target) -> Vec<u64> {
        if self.first.end - self.first.start <= 16 {
            return vec![self.first.start];
        }
        let starts = self.first.clone().step_by(16);
        let starts = starts.filter(|start| {
            let size = target.word(start + 8);
            size.is_some_and(|size| size & 7 == FIRST_CHUNK && (32..HEAP_BYTES).contains(&size))
        });
        starts.collect()
    }
}

/// The memory of the main arena.
fn main(target: &dyn Target) -> Region {
    let mappings = target.mappings().iter();
    let mut heaps = mappings.filter(|mapping| mapping.path == b"[heap]");
    let start = heaps.next().map_or(0, |mapping| mapping.start);
    let mut end = start;
    for mapping in target.mappings() {
        if mapping.path == b"[heap]" && (mapping.start == end || mapping.start == start) {
            end = mapping.end;
        }
    }
    Region {
        addresses: start..end,
        can_grow: true,
        first: start..start + 16,
    }
}

/// A mapping as the memory of the main arena, if no mapping has that name. Core files lack names. If it is other memory,
/// its words do not lead from chunk to chunk.
fn unnamed_main(target: &dyn Target, mapping: &Mapping) -> Option<Region> {
    let mut mappings = target.mappings().iter();
    let is_named = mappings.any(|mapping| mapping.path == b"[heap]");
    let may_be_main = !is_named && mapping.is_writable && mapping.path.is_empty();
    may_be_main.then(|| Region {
        addresses: mapping.range(),
        can_grow: false,
        first: mapping.start..mapping.start + 16,
    })
}

/// The heap of another arena.
fn heap(target: &dyn Target, address: u64) -> Option<Region> {
    let start = address & !(HEAP_BYTES - 1);
    let [arena, bytes] = header(target, start)?;
    let of_arena = arena & !(HEAP_BYTES - 1);
    let [of_itself, _] = header(target, of_arena)?;
    let header_bytes = arena - of_arena;
    if of_itself != arena || !HEADERS.contains(&header_bytes) {
        return None;
    }
    let first = if of_arena == start {
        arena + ARENA_BYTES.start..arena + ARENA_BYTES.end
    } else {
        start + header_bytes..start + header_bytes + 16
    };
    Some(Region {
        addresses: start..start.checked_add(bytes)?,
        can_grow: false,
        first,
    })
}

/// The arena and the size of the heap that begins at an address, if one does.
fn header(target: &dyn Target, start: u64) -> Option<[u64; 2]> {
    let mut words = [0; 3];
    let is_read = target.words(start, &mut words);
    let [arena, _, bytes] = words;
    let is_heap = is_read && bytes.is_multiple_of(PAGE) && (PAGE..=HEAP_BYTES).contains(&bytes);
    is_heap.then_some([arena, bytes])
}
