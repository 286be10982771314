//! [`AsyncTaskFinder`]: finds the tasks of async-task, which smol and async-std use.
//!
//! The search needs neither names nor debug info. Its steps:
//!
//! 1. [`index`]: vtables of tasks are found by shape, in the data of the modules.
//! 2. [`header`]: a word of writable memory with the address of a vtable begins a task.
//! 3. [`references`]: words with the address of a task are wakers, in queues, or on a stack. At least
//!    one such word leads to each task.
//! 4. [`active`]: an executor keeps a waker of each task, only to drop the tasks at its end. These wakers are found, and
//!    not counted.

pub mod active;
pub mod header;
pub mod index;
pub mod pass;
pub mod state;
pub mod vtable;

use std::collections::HashMap;
use std::ops::Range;

use ctp_trace::record::TaskKind;

use crate::async_task::active::ActiveLists;
use crate::async_task::header::TaskHeader;
use crate::async_task::index::VtableIndex;
use crate::async_task::pass::{Headers, Pass};
use crate::finder::{Finder, FoundTask, FoundTasks};
use crate::references::collected::CollectedWords;
use crate::references::{self, ReferenceSearch, References};
use crate::scan::{Scan, WritableMemory};
use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// At most this many bytes of writable memory are searched.
const MAX_BYTES: u64 = 16 << 30;

/// Finds the tasks of async-task, from 4.3 on.
#[derive(Debug, Default)]
pub struct AsyncTaskFinder {
    index: VtableIndex,
    scan: Scan,
}

impl Finder for AsyncTaskFinder {
    fn find(&mut self, target: &dyn Target, stacks: &StackRanges) -> FoundTasks {
        self.index.refresh(target, &mut self.scan);
        if self.index.vtables.is_empty() {
            return FoundTasks::default();
        }
        let memory = WritableMemory::of(target, MAX_BYTES);
        let pass = Pass::new(target, stacks, &mut self.index, &memory);
        let passed = pass.run(&mut self.scan, &memory);
        let unreadable = self.scan.unreadable_bytes(target.mappings());
        let searched = (target, &memory, stacks);
        let references = self.references(searched, &passed.candidates, &passed.words);
        let mut headers = passed.candidates;
        headers.retain(|address, task| task.is_proven_by(&references[address]));
        drop_ended(target, &mut headers);
        let tasks = self.tasks(target, &headers, references);
        FoundTasks {
            runtimes: self.runtimes(!tasks.is_empty()),
            tasks,
            gaps: memory.gaps(unreadable),
        }
    }
}

/// What is searched: the target, its writable memory, and the stacks in that memory.
type Searched<'t> = (&'t dyn Target, &'t WritableMemory, &'t StackRanges);

impl AsyncTaskFinder {
    /// The references to these candidates, in stacks and among the collected `words`. For candidates without such
    /// references, all memory is searched.
    fn references(
        &mut self,
        searched @ (_, memory, stacks): Searched<'_>,
        candidates: &Headers,
        words: &CollectedWords,
    ) -> HashMap<u64, References> {
        if words.is_cut {
            let addresses = candidates.keys().copied().collect();
            return self.search(
                searched,
                addresses,
                &memory.ranges,
                &CollectedWords::default(),
            );
        }
        let addresses = candidates.keys().copied().collect();
        let in_stacks = memory.parts_in(stacks.in_use());
        let mut found = self.search(searched, addresses, &in_stacks, words);
        let unproven = candidates.values();
        let unproven = unproven.filter(|task| !task.is_proven_by(&found[&task.address]));
        let unproven: Vec<u64> = unproven.map(|task| task.address).collect();
        if !unproven.is_empty() {
            let none = CollectedWords::default();
            found.extend(self.search(searched, unproven, &memory.ranges, &none));
        }
        found
    }

    /// Searches these parts of memory for references to tasks, and adds the collected references among `words`.
    fn search(
        &mut self,
        (target, _, stacks): Searched<'_>,
        tasks: Vec<u64>,
        ranges: &[Range<u64>],
        words: &CollectedWords,
    ) -> HashMap<u64, References> {
        let mut search = ReferenceSearch::new(target, stacks, tasks, Vec::new());
        search.add_collected(words);
        let wakers = &mut self.index.wakers;
        self.scan.each_piece(target, ranges, |piece| {
            search.search(&piece, wakers);
        });
        search.finish()
    }

    fn tasks(
        &self,
        target: &dyn Target,
        headers: &Headers,
        mut references: HashMap<u64, References>,
    ) -> Vec<FoundTask> {
        let mut wakers = references::wakers(&references);
        let mut lists = ActiveLists::new(target);
        let tasks = headers.values().filter_map(|header| {
            let vtable = self.index.vtables.get(&header.vtable)?;
            let address = header.address;
            let mut waker_addresses = wakers.remove(&address).unwrap_or_default();
            let kept = lists.waker_of(header, vtable, &waker_addresses);
            waker_addresses.retain(|waker| Some(*waker) != kept);
            let kept_wakers = u32::from(kept.is_some());
            Some(FoundTask {
                address,
                kind: TaskKind::AsyncTask,
                runtime_id: 0,
                state: header.state.state(),
                wakers: Some(header.state.wakers().saturating_sub(kept_wakers)),
                kept_wakers,
                waker_addresses,
                stacks: references.remove(&address).unwrap_or_default().stacks,
                spawned_at: None,
                layout: vtable.layout(),
                ..FoundTask::default()
            })
        });
        tasks.collect()
    }

    /// The names and versions of async-task in the process. The version is left out if there are tasks, but the modules
    /// have no path of async-task. Without tasks and paths, the list is empty: the vtables that were found only look like
    /// those of async-task.
    fn runtimes(&self, has_tasks: bool) -> Vec<String> {
        if self.index.versions.is_empty() && has_tasks {
            return vec!["async-task".to_owned()];
        }
        let versions = self.index.versions.iter();
        versions
            .map(|version| format!("async-task {version}"))
            .collect()
    }
}

/// Drops the tasks that have ended since they were found, and reads the states of the others again.
fn drop_ended(target: &dyn Target, headers: &mut Headers) {
    headers.retain(|address, task| {
        let now = TaskHeader::read(target, None, *address);
        let now = now.filter(|now| now.vtable == task.vtable && now.is_plausible());
        now.inspect(|now| *task = *now).is_some()
    });
}
