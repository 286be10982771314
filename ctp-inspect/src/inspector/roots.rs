//! The futures of threads that are parked in `block_on`.

use std::collections::HashMap;

use ctp_trace::record::{AwaitStack, InspectedTask, ProcessId, TaskId, TaskKind};

use crate::finder::FoundTask;
use crate::inspector::futures::Futures;
use crate::inspector::identities::{Identities, TraceIds};
use crate::target::Target;
use crate::threads::inspector::ThreadInspector;

/// The futures of threads, and the await stacks that are new in this trace.
#[derive(Default)]
pub struct FoundRoots {
    /// The futures, as tasks.
    pub tasks: Vec<InspectedTask>,
    /// The new await stacks.
    pub stacks: Vec<AwaitStack>,
    /// The addresses of the futures that are polled whenever a thread's future is, each with the address of that future.
    pub polled: Vec<(u64, u64)>,
}

/// Reads the futures of all threads that are parked in `block_on`. A thread that continues meanwhile is left out.
pub fn read(
    (target, process): (&dyn Target, ProcessId),
    threads: &ThreadInspector,
    futures: &mut Futures,
    identities: &mut Identities,
    (numbers, ids): (&HashMap<u64, TaskId>, &mut TraceIds),
) -> FoundRoots {
    let mut found = FoundRoots::default();
    for thread in threads.parked_in_block_on() {
        let read = futures.read_block_on(target, thread.frames, numbers, (ids, &mut found.stacks));
        let Some((root, stack)) = read.filter(|_| threads.has_not_moved(target, thread.tid)) else {
            continue;
        };
        let identity = FoundTask {
            address: root.address,
            kind: TaskKind::BlockOn,
            ..FoundTask::default()
        };
        let id = identities.number(&identity, ids);
        let polled = root.awaits.polled.iter().flatten();
        found
            .polled
            .extend(polled.map(|future| (future.start, root.address)));
        found.tasks.push(InspectedTask {
            id,
            process,
            kind: TaskKind::BlockOn,
            address: root.address,
            polled_by: thread.tid,
            name: root.awaits.name,
            stack,
            waits: root.awaits.waits,
            holds: root.awaits.holds,
            size_bytes: root.size_bytes,
            wakers: None,
            ..InspectedTask::default()
        });
    }
    found
}
