//! The boxed futures of an inspection, as tasks.
//!
//! A boxed future that a task polls whenever the task itself is polled is part of that task, and is in its await stack
//! only. The same holds for a boxed future that another boxed future polls so. All others are tasks of their own.

mod entries;
mod parts;
mod recheck;

use std::collections::HashMap;

use ctp_trace::record::{AwaitStack, InspectedTask, ProcessId, TaskId, TaskKind};

use crate::awaits::TaskFuture;
use crate::boxed::BoxedFinder;
use crate::boxed::owners::TaskMemory;
use crate::finder::FoundTask;
use crate::glibc_heap::Heaps;
use crate::inspector::futures::{FutureByTask, Futures};
use crate::inspector::identities::{Identities, TraceIds};
use crate::inspector::roots::FoundRoots;
use crate::stack_ranges::StackRanges;
use crate::target::Target;
use entries::Entries;
use parts::Parts;
use recheck::Recheck;

/// The boxed futures that are tasks of their own.
#[derive(Default)]
pub struct ReadBoxes {
    /// The futures, as tasks.
    pub tasks: Vec<InspectedTask>,
    /// The await stacks that are new in this trace.
    pub stacks: Vec<AwaitStack>,
    /// Sentences about what could not be read.
    pub gaps: Vec<String>,
}

/// What was found before: the tasks, their futures, and the futures of threads.
type Known<'k> = (&'k [FoundTask], &'k FutureByTask, &'k FoundRoots);

/// Finds and reads the boxed futures of a process.
pub fn read(
    (target, stacks, process): (&dyn Target, &StackRanges, ProcessId),
    (finder, futures, identities): (&mut BoxedFinder, &mut Futures, &mut Identities),
    known: Known<'_>,
    (numbers, ids): (&HashMap<u64, TaskId>, &mut TraceIds),
) -> ReadBoxes {
    let mut read = ReadBoxes::default();
    if !finder.has_vtables(target, futures.awaits()) {
        read.gaps = finder.gaps();
        return read;
    }
    let heaps = Heaps::of(target);
    let memory = (target, stacks, &heaps);
    let tasks = memory_of(known);
    let found = finder.find(memory, futures.awaits(), &tasks);
    let parts = Parts::of(known, numbers);
    let own = parts.without_parts(found.boxes);
    let mut entries = Entries::read(target, futures.awaits(), own, numbers);
    entries.keep_outermost();
    let recheck = Recheck {
        target,
        awaits: futures.awaits(),
        numbers,
        tasks: &tasks,
    };
    recheck.run(&mut entries, &heaps);
    entries.number(identities, ids);
    read.tasks = entries.records(process, &parts, &mut |frames| {
        futures.number(frames, ids, &mut read.stacks)
    });
    read.gaps = finder.gaps();
    read.gaps.extend(found.gaps);
    read.gaps.extend(entries.gaps());
    read
}

/// The memory of all tasks and of the futures of threads.
fn memory_of((tasks, _, roots): Known<'_>) -> TaskMemory {
    let roots = roots.tasks.iter();
    let roots = roots.map(|root| root.address..root.address.saturating_add(root.size_bytes));
    let mut ranges: Vec<_> = tasks.iter().map(FoundTask::memory).chain(roots).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let followed = tasks.iter().filter(|task| is_followed(task));
    let futures = followed.clone();
    let futures = futures.filter_map(|task| Some((task.address, TaskFuture::of(task)?)));
    TaskMemory {
        ranges,
        futures: futures.collect(),
        vtables: followed.map(|task| task.layout.identity).collect(),
    }
}

/// Whether the futures of a task of this kind are followed.
fn is_followed(task: &FoundTask) -> bool {
    matches!(task.kind, TaskKind::Tokio | TaskKind::AsyncTask)
}
