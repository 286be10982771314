//! [`TokioFinder`]: finds the tasks of tokio.
//!
//! The search needs neither names nor debug info. Its steps:
//!
//! 1. [`index`]: vtables of tasks are found by shape, in the data of the modules.
//! 2. [`header`]: a word of writable memory with the address of a vtable belongs to the header of a task.
//! 3. [`owned_list`]: the neighbours of a task in its owner's list point back to it.
//! 4. [`references`]: words with the address of a task are wakers, lists, or on a stack.
//!
//! A single [`pass`] over memory serves 2 and most of 4.

pub mod header;
pub mod header_ranges;
pub mod index;
pub mod owned_list;
pub mod pass;
pub mod state;
pub mod vtable;

mod spawn_location;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use ctp_trace::record::TaskKind;

use crate::finder::{Finder, FoundTask, FoundTasks};
use crate::references::collected::CollectedWords;
use crate::references::{self, ReferenceSearch, References};
use crate::scan::{Scan, WritableMemory};
use crate::stack_ranges::{StackRanges, possible_stacks};
use crate::target::Target;
use crate::tokio::header::TaskHeader;
use crate::tokio::header_ranges::ranges_of;
use crate::tokio::index::VtableIndex;
use crate::tokio::owned_list::{CheckedCandidates, HeaderReader, Headers};
use crate::tokio::pass::Pass;

/// At most this many bytes of writable memory are searched.
const MAX_BYTES: u64 = 16 << 30;
/// The neighbours in the owner's list take this many bytes at the start of the trailer.
const NEIGHBOURS_BYTES: u64 = 16;

/// Finds the tasks of tokio, from 1.21 on.
#[derive(Debug, Default)]
pub struct TokioFinder {
    index: VtableIndex,
    scan: Scan,
    /// Vtables of tasks that a list has owned. Such tasks are not of the blocking pool.
    owned_vtables: BTreeSet<u64>,
}

impl Finder for TokioFinder {
    fn find(&mut self, target: &dyn Target, stacks: &StackRanges) -> FoundTasks {
        self.index.refresh(target, &mut self.scan);
        if self.index.vtables.is_empty() {
            return FoundTasks::default();
        }
        let memory = WritableMemory::of(target, MAX_BYTES);
        let pass = Pass::new(target, stacks, &mut self.index, &memory);
        let passed = pass.run(&mut self.scan, &memory);
        let unreadable = self.scan.unreadable_bytes(target.mappings());
        let reader = HeaderReader {
            target,
            vtables: &self.index.vtables,
        };
        let mut checked = owned_list::check(passed.candidates, &reader, stacks);
        let searched = (target, &memory, stacks);
        let mut references = self.references(searched, &checked.tasks, &passed.words);
        self.drop_ended(target, &mut checked);
        self.complete(searched, &checked.tasks, &mut references);
        self.drop_remains(&mut checked, &references, memory.skipped + unreadable == 0);
        let tasks = self.tasks(target, &checked.tasks, references);
        let mut gaps = memory.gaps(unreadable);
        gaps.extend(gap_of_undecided(checked.undecided));
        FoundTasks {
            runtimes: self.runtimes(!tasks.is_empty()),
            tasks,
            gaps,
        }
    }
}

/// What is searched: the target, its writable memory, and the stacks in that memory.
type Searched<'t> = (&'t dyn Target, &'t WritableMemory, &'t StackRanges);

impl TokioFinder {
    /// The references to these tasks: in stacks, and among the words that were collected elsewhere.
    fn references(
        &mut self,
        searched @ (_, memory, stacks): Searched<'_>,
        tasks: &Headers,
        words: &CollectedWords,
    ) -> HashMap<u64, References> {
        if words.is_cut {
            return self.search(searched, tasks, &memory.ranges, &CollectedWords::default());
        }
        let ranges = memory.parts_in(stacks.in_use());
        self.search(searched, tasks, &ranges, words)
    }

    /// Searches for references to the candidates that may be only remains of tasks. Each worker thread polls a task
    /// without an owner, so memory that may be the thread's stack comes first. Few other candidates are left, or none.
    fn complete(
        &mut self,
        searched @ (target, memory, _): Searched<'_>,
        tasks: &Headers,
        references: &mut HashMap<u64, References>,
    ) {
        let owned = tasks.values().filter(|task| task.owner != 0);
        self.owned_vtables.extend(owned.map(|task| task.vtable));
        let stacks = memory.parts_in(possible_stacks(target.mappings()));
        for ranges in [&stacks, &memory.ranges] {
            let uncertain = self.uncertain(tasks, references);
            if uncertain.is_empty() {
                return;
            }
            let found = self.search(searched, &uncertain, ranges, &CollectedWords::default());
            let proven = found
                .into_iter()
                .filter(|(task, found)| tasks[task].is_proven_by(found));
            references.extend(proven);
        }
    }

    /// The candidates that may be only remains of tasks, because no reference proves them.
    fn uncertain(&self, tasks: &Headers, references: &HashMap<u64, References>) -> Headers {
        let mut uncertain = tasks.clone();
        uncertain.retain(|address, task| {
            let references = references.get(address);
            self.may_be_task(task) && !references.is_some_and(|found| task.is_proven_by(found))
        });
        uncertain
    }

    /// Searches these parts of memory for references to tasks, and adds those that were collected.
    fn search(
        &mut self,
        (target, _, stacks): Searched<'_>,
        tasks: &Headers,
        ranges: &[Range<u64>],
        words: &CollectedWords,
    ) -> HashMap<u64, References> {
        let addresses = tasks.keys().copied().collect();
        let links = self.links(tasks);
        let mut search = ReferenceSearch::new(target, stacks, addresses, links);
        search.add_collected(words);
        let wakers = &mut self.index.wakers;
        self.scan.each_piece(target, ranges, |piece| {
            search.search(&piece, wakers);
        });
        search.finish()
    }

    /// Where these tasks keep their neighbours in the owner's list, sorted.
    fn links(&self, tasks: &Headers) -> Vec<Range<u64>> {
        let links = tasks.values().filter_map(|task| {
            let vtable = self.index.vtables.get(&task.vtable)?;
            let trailer = task.address.checked_add(vtable.trailer_offset)?;
            Some(trailer..trailer.saturating_add(NEIGHBOURS_BYTES))
        });
        let mut links: Vec<_> = links.collect();
        links.sort_unstable_by_key(|link| link.start);
        links
    }

    /// Drops tasks that have ended since they were found. Otherwise both a task and the task that was
    /// spawned after its end would count.
    fn drop_ended(&mut self, target: &dyn Target, checked: &mut CheckedCandidates) {
        let reader = HeaderReader {
            target,
            vtables: &self.index.vtables,
        };
        let mut now = Headers::new();
        let ranges = ranges_of(&checked.tasks, reader.vtables);
        self.scan.each_piece(target, &ranges, |piece| {
            let tasks = checked.tasks.range(piece.range());
            let headers = tasks.filter_map(|(address, _)| reader.read_in(Some(&piece), *address));
            now.extend(headers.map(|header| (header.address, header)));
        });
        checked.tasks.retain(|address, task| {
            let now = now.get(address).filter(|now| now.is_plausible());
            let now = now.filter(|now| now.owner == task.owner);
            // Another task may have been spawned into the list that had only this task.
            if let Some(now) = now.filter(|_| task.neighbours == [0, 0]) {
                *task = *now;
            }
            now.is_some()
        });
    }

    /// Drops what looks like a task without neighbours, but is in no list and no queue.
    fn drop_remains(
        &self,
        checked: &mut CheckedCandidates,
        references: &HashMap<u64, References>,
        is_search_complete: bool,
    ) {
        checked.tasks.retain(|address, task| {
            let is_proven = references
                .get(address)
                .is_some_and(|references| task.is_proven_by(references));
            let is_owned = task.owner != 0;
            self.may_be_task(task) && (is_proven || is_owned && !is_search_complete)
        });
    }

    /// Whether a candidate has an owner, or may be a task of the blocking pool.
    fn may_be_task(&self, task: &TaskHeader) -> bool {
        task.owner != 0 || task.is_blocking() && !self.owned_vtables.contains(&task.vtable)
    }

    fn tasks(
        &self,
        target: &dyn Target,
        headers: &Headers,
        mut references: HashMap<u64, References>,
    ) -> Vec<FoundTask> {
        let mut wakers = references::wakers(&references);
        let mut locations = spawn_location::SpawnLocations::new(target);
        let tasks = headers.values().filter_map(|header| {
            let vtable = *self.index.vtables.get(&header.vtable)?;
            let (address, kind) = (header.address, kind(header));
            Some(FoundTask {
                address,
                kind,
                runtime_id: header.id,
                state: header.state.state(),
                wakers: (kind == TaskKind::Tokio).then(|| header.state.wakers()),
                kept_wakers: 0,
                waker_addresses: wakers.remove(&address).unwrap_or_default(),
                stacks: references.remove(&address).unwrap_or_default().stacks,
                spawned_at: locations.of(address, &vtable),
                layout: vtable.layout(),
                ..FoundTask::default()
            })
        });
        tasks.collect()
    }

    /// The versions of tokio. If there are tasks but no path of tokio, the number is left out. Without both, what looks
    /// like a vtable of tokio is none, so the list is empty.
    fn runtimes(&self, has_tasks: bool) -> Vec<String> {
        if self.index.versions.is_empty() && has_tasks {
            return vec!["tokio".to_owned()];
        }
        let versions = self.index.versions.iter();
        versions.map(|version| format!("tokio {version}")).collect()
    }
}

fn kind(header: &TaskHeader) -> TaskKind {
    if header.owner == 0 {
        TaskKind::Blocking
    } else {
        TaskKind::Tokio
    }
}

fn gap_of_undecided(tasks: usize) -> Option<String> {
    (0 < tasks).then(|| {
        format!("{tasks} tasks of tokio changed too quickly to be told from remains of tasks")
    })
}
