//! [`judge`]: decides which boxed futures are alive.
//!
//! A box that was moved or dropped may leave its two words behind. So a future certainly lives only if it is alone in
//! memory that the allocator says is in use, and if that memory has the size of the type and can be a value of it.

use std::collections::BTreeMap;

use crate::awaits::AwaitReader;
use crate::boxed::memory_use::{MemoryUse, MemoryUses};
use crate::boxed::pointers::BoxPointer;
use crate::boxed::vtables::FutureVtables;
use crate::glibc_heap::{Chunk, Heaps};
use crate::target::Target;

/// A future that lives or may live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveBox {
    /// Where the future is.
    pub address: u64,
    /// Address of the vtable.
    pub vtable: u64,
    /// Size of the future in bytes.
    pub size_bytes: u64,
    /// The allocator does not say that the memory is in use, or the type is not certain.
    pub may_be_freed: bool,
    /// The chunk of the allocator, if known.
    pub chunk: Option<Chunk>,
    /// The boxes with the future. There are several if a box was moved and its words were left behind.
    pub pointers: Vec<(BoxPointer, MemoryUse)>,
}

impl LiveBox {
    /// Leaves out the boxes that were dropped or moved since they were found.
    pub fn retain_unchanged(&mut self, target: &dyn Target, heaps: &Heaps<'_>) {
        let is_released = |chunk| heaps.is_released(chunk) == Some(true);
        if self.chunk.is_some_and(is_released) {
            self.pointers.clear();
        }
        let expected = [self.address, self.vtable];
        self.pointers.retain(|(pointer, memory_use)| {
            let mut words = [0; 2];
            let is_read = target.words(pointer.at, &mut words);
            is_read && words == expected && !memory_use.chunk().is_some_and(is_released)
        });
    }
}

/// The futures that live or may live, sorted by address.
pub fn judge(
    uses: MemoryUses<'_>,
    awaits: &AwaitReader,
    vtables: &FutureVtables,
    pointers: Vec<(BoxPointer, MemoryUse)>,
) -> Vec<LiveBox> {
    let mut found: BTreeMap<(u64, u64), LiveBox> = BTreeMap::new();
    for (pointer, memory_use) in pointers {
        // A box on a stack may be left from a function that has returned.
        if matches!(memory_use, MemoryUse::Stack(_)) {
            continue;
        }
        let key = (pointer.future, pointer.vtable);
        let live = found.entry(key).or_default();
        (live.address, live.vtable) = key;
        live.pointers.push((pointer, memory_use));
    }
    let addresses: Vec<u64> = found.keys().map(|(address, _)| *address).collect();
    let chunks = uses.heaps.chunks(&addresses);
    let mut boxes: Vec<LiveBox> = found.into_values().collect();
    boxes.retain_mut(|live| {
        live.size_bytes = vtables.at(live.vtable).map_or(0, |of| of.size);
        live.chunk = chunks.get(&live.address).copied();
        let lives = lives(uses, live);
        live.may_be_freed = lives == Some(Lives::Maybe);
        lives.is_some() && awaits.may_be_future(uses.target, live.address, live.vtable)
    });
    without_doubles(boxes)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lives {
    Certainly,
    Maybe,
}

/// Whether the memory can be that of the future. `None` if it cannot.
fn lives(uses: MemoryUses<'_>, live: &LiveBox) -> Option<Lives> {
    let Some(chunk) = live.chunk else {
        let is_stack = uses.stacks.containing(live.address).is_some();
        let mapping = uses.target.mapping_at(live.address);
        let may_be_heap = mapping.is_some_and(|mapping| mapping.is_writable && !mapping.has_file());
        return (may_be_heap && !is_stack).then_some(Lives::Maybe);
    };
    let is_own =
        chunk.is_in_use && chunk.memory == live.address && chunk.is_made_for(live.size_bytes);
    match uses.heaps.is_released(chunk) {
        Some(true) => None,
        Some(false) => is_own.then_some(Lives::Certainly),
        None => is_own.then_some(Lives::Maybe),
    }
}

/// Keeps a single future at each address. If memory was reused for a future of another type, a box of the earlier
/// future may be left, and it is unknown which of them lives.
fn without_doubles(boxes: Vec<LiveBox>) -> Vec<LiveBox> {
    let mut single: Vec<LiveBox> = Vec::new();
    for live in boxes {
        match single.last_mut() {
            Some(last) if last.address == live.address => {
                last.may_be_freed = true;
            }
            _ => single.push(live),
        }
    }
    single
}

/// Says how many futures may be freed.
pub fn gap(boxes: &[LiveBox], heaps: &Heaps<'_>) -> Option<String> {
    let uncertain = boxes.iter().filter(|live| live.may_be_freed);
    let uncertain: Vec<&LiveBox> = uncertain.collect();
    let why = if uncertain.iter().any(|live| live.chunk.is_none()) {
        "are in memory of an allocator that is not glibc's"
    } else if heaps.have_safe_links() {
        "are in memory that has boxes of several types"
    } else {
        "are in memory of a version of glibc before 2.32"
    };
    let count = uncertain.len();
    (0 < count).then(|| format!("{count} boxed futures {why}: some may be freed"))
}
