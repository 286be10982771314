//! [`Recheck`]: leaves out boxed futures that tasks created, took over or dropped during the inspection.
//!
//! Tasks are read before boxed futures are searched. A task that ran in between may have created a boxed future that is
//! part of the task, or dropped one. So the tasks in question are read again, before and after it is checked which boxed
//! futures still exist.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use ctp_trace::record::TaskId;

use super::entries::Entries;
use crate::awaits::{AwaitReader, TaskFuture};
use crate::boxed::owners::{Holder, TaskMemory};
use crate::glibc_heap::Heaps;
use crate::target::Target;

/// At most this many bytes of a future are compared.
const MAX_BYTES: u64 = 1 << 16;

/// Reads tasks for the second time.
pub(super) struct Recheck<'r> {
    pub(super) target: &'r dyn Target,
    pub(super) awaits: &'r AwaitReader,
    /// The tasks by address.
    pub(super) numbers: &'r HashMap<u64, TaskId>,
    pub(super) tasks: &'r TaskMemory,
}

/// What tasks poll whenever they are polled, by the address of the task; `None` if a thread polls the task, or if the
/// task has ended.
type AllPolled = BTreeMap<u64, Option<Polled>>;

/// The futures that are polled whenever a task is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Polled {
    futures: BTreeSet<u64>,
    /// The memory of the futures. It changes whenever the task goes on.
    contents: Vec<u8>,
}

impl Recheck<'_> {
    /// Leaves out the futures that were dropped, that are parts of tasks by now, or that may be parts of a task that
    /// runs.
    pub(super) fn run(&self, entries: &mut Entries, heaps: &Heaps<'_>) {
        let tasks = in_question(entries, self.tasks);
        let before = self.read(&tasks);
        entries.retain_live(self.target, heaps);
        entries.retain_held((self.target, self.awaits), self.tasks);
        let after = self.read(&tasks);
        let active = before.iter().filter(|(task, polled)| {
            let is_unchanged = polled.is_some() && after.get(task) == Some(polled);
            !is_unchanged
        });
        let active: BTreeSet<u64> = active.map(|(task, _)| *task).collect();
        let polled = before.values().flatten().flat_map(|polled| &polled.futures);
        let polled: BTreeSet<u64> = polled.copied().collect();
        entries.retain(|address, own| {
            let may_be_part = match (&own.holder, &own.outermost) {
                (_, Holder::Static(_) | Holder::Thread(_)) => false,
                (Holder::Task(task), _) => active.contains(task),
                _ => !active.is_empty(),
            };
            !may_be_part && !polled.contains(&address)
        });
    }

    fn read(&self, tasks: &[TaskFuture]) -> AllPolled {
        let numbers = |header| self.numbers.get(&header).copied();
        let polled = tasks.iter().map(|task| {
            let awaits = self.awaits.read_task(*task, self.target, &numbers);
            (
                task.header,
                awaits.polled.map(|polled| self.contents(&polled)),
            )
        });
        polled.collect()
    }

    /// Reads the memory of futures. Futures inside of others are not read again.
    fn contents(&self, memory: &[Range<u64>]) -> Polled {
        let mut polled = Polled::default();
        let mut outer = 0..0;
        for future in memory {
            polled.futures.insert(future.start);
            if outer.contains(&future.start) {
                continue;
            }
            outer = future.clone();
            let bytes = (future.end - future.start).min(MAX_BYTES) as usize;
            let start = polled.contents.len();
            polled.contents.resize(start + bytes, 0);
            self.target
                .read(future.start, &mut polled.contents[start..]);
        }
        polled
    }
}

/// All tasks, if any of them may hold any of the boxed futures.
fn in_question(entries: &Entries, tasks: &TaskMemory) -> Vec<TaskFuture> {
    let is_fixed = |holder: &Holder| matches!(holder, Holder::Static(_) | Holder::Thread(_));
    if entries.outermost_holders().all(is_fixed) {
        return Vec::new();
    }
    tasks.futures.values().copied().collect()
}
