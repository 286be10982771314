//! [`HeldFutures`]: leaves out what only looks like a box: words in the memory of a future where the types of the future have no
//! box.

use std::collections::BTreeMap;

use crate::awaits::{AwaitReader, FutureMemory, TaskFuture};
use crate::boxed::live::LiveBox;
use crate::boxed::owners::TaskMemory;
use crate::target::Target;

/// The memory of futures.
pub struct HeldFutures<'h> {
    target: &'h dyn Target,
    awaits: &'h AwaitReader,
    tasks: &'h TaskMemory,
    /// The vtables of the boxed futures, by the address of the future.
    boxes: BTreeMap<u64, u64>,
}

impl<'h> HeldFutures<'h> {
    /// The memory of these tasks and boxed futures.
    pub fn of(
        (target, awaits): (&'h dyn Target, &'h AwaitReader),
        tasks: &'h TaskMemory,
        boxes: &[LiveBox],
    ) -> Self {
        let boxes = boxes.iter().map(|live| (live.address, live.vtable));
        HeldFutures {
            target,
            awaits,
            tasks,
            boxes: boxes.collect(),
        }
    }

    /// Leaves out the boxes that are only remains of boxes, and the futures that have no other box.
    pub fn retain(&self, boxes: &mut Vec<LiveBox>) {
        boxes.retain_mut(|live| {
            live.pointers.retain(|(pointer, memory_use)| {
                let chunk = memory_use.chunk().map(|chunk| chunk.memory);
                let memory = self.memory(pointer.at, chunk);
                memory
                    .is_none_or(|memory| self.awaits.may_hold_box(self.target, memory, pointer.at))
            });
            !live.pointers.is_empty()
        });
    }

    /// The future with an address, which is in the chunk with the memory at `chunk`.
    fn memory(&self, at: u64, chunk: Option<u64>) -> Option<FutureMemory> {
        if let Some(task) = self.tasks.containing(at) {
            let future: Option<&TaskFuture> = self.tasks.futures.get(&task);
            return future.copied().map(FutureMemory::Task);
        }
        let address = chunk?;
        let vtable = self.boxes.get(&address)?;
        Some(FutureMemory::Boxed(address, *vtable))
    }
}
