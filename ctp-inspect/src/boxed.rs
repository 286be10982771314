//! [`BoxedFinder`]: finds boxed futures: the values behind a `Box<dyn Future>`, wherever the box is.
//!
//! A box is two words: the address of the future, and the address of a vtable. The steps:
//!
//! 1. [`vtables`]: the debug info says which vtables are for `dyn Future`.
//! 2. [`pointers`]: a pass over memory finds words with the address of such a vtable, and the words before.
//! 3. [`memory_use`]: what the memory with each of these boxes is: in use, freed, static, or a stack.
//! 4. [`referrers`]: a second pass finds what leads to the memory with the boxes.
//! 5. [`arrays`]: which boxes lie behind the last element of a vector.
//! 6. [`live`]: which futures live, and which only may.
//! 7. [`held`]: which boxes in the memory of a future are only remains, according to the future's type.
//! 8. [`owners`]: the task, static variable or thread that leads to each of them.

pub mod arrays;
pub mod held;
pub mod live;
pub mod memory_use;
pub mod owners;
pub mod pointers;
pub mod referrers;
pub mod vtables;

use crate::awaits::AwaitReader;
use crate::boxed::arrays::Arrays;
use crate::boxed::held::HeldFutures;
use crate::boxed::live::LiveBox;
use crate::boxed::memory_use::MemoryUses;
use crate::boxed::owners::{Holder, Owners, TaskMemory};
use crate::boxed::referrers::{Referrers, Searched};
use crate::boxed::vtables::FutureVtables;
use crate::glibc_heap::Heaps;
use crate::scan::{Scan, WritableMemory};
use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// At most this many bytes of writable memory are searched.
const MAX_BYTES: u64 = 16 << 30;

/// Finds boxed futures.
#[derive(Debug, Default)]
pub struct BoxedFinder {
    vtables: FutureVtables,
    scan: Scan,
}

/// The boxed futures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundBoxes {
    /// The futures, sorted by address, each with what holds its box.
    pub boxes: Vec<(LiveBox, Holder)>,
    /// Sentences about what could not be read or understood.
    pub gaps: Vec<String>,
}

/// The process, its stacks, and its heaps.
pub type Memory<'m> = (&'m dyn Target, &'m StackRanges, &'m Heaps<'m>);

impl BoxedFinder {
    /// Whether boxed futures can be found in the process.
    pub fn has_vtables(&mut self, target: &dyn Target, awaits: &AwaitReader) -> bool {
        self.vtables.refresh(target, awaits, &mut self.scan);
        !self.vtables.is_empty()
    }

    /// Sentences about modules of which no boxed futures are found.
    pub fn gaps(&self) -> Vec<String> {
        self.vtables.gaps()
    }

    /// Finds all boxed futures.
    pub fn find(
        &mut self,
        (target, stacks, heaps): Memory<'_>,
        awaits: &AwaitReader,
        tasks: &TaskMemory,
    ) -> FoundBoxes {
        let memory = WritableMemory::of(target, MAX_BYTES);
        let pointers = pointers::find(target, &mut self.scan, &memory, &self.vtables);
        let uses = MemoryUses {
            target,
            stacks,
            heaps,
        };
        let searched = Searched {
            uses,
            memory: &memory,
        };
        let mut located = uses.with_uses(pointers, |pointer| pointer.at);
        let chunks = located
            .iter()
            .filter_map(|(_, memory_use)| memory_use.chunk());
        let mut referrers = Referrers::default();
        referrers.add(&searched, &mut self.scan, chunks.collect());
        let mut arrays = Arrays::new(target, &referrers);
        located.retain(|(pointer, memory_use)| arrays.may_hold(pointer, *memory_use));
        let mut live = live::judge(uses, awaits, &self.vtables, located);
        HeldFutures::of((target, awaits), tasks, &live).retain(&mut live);
        let gaps = live::gap(&live, heaps).into_iter().collect();
        let owners = Owners::new((target, awaits), tasks, &live);
        let holders = owners.find(&searched, &mut self.scan, referrers);
        FoundBoxes {
            boxes: live.into_iter().zip(holders).collect(),
            gaps,
        }
    }
}
