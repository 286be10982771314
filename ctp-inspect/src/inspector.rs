//! [`Inspector`]: inspects a process repeatedly, and reports what has changed.

mod boxes;
mod changes;
mod futures;
mod holders;
mod identities;
mod own_wakers;
mod resource_holder;
mod roots;

use std::collections::HashMap;

use ctp_trace::record::{
    AwaitStack, CoroutineId, InspectedTask, Inspection, InspectionEnd, ProcessId, Record, TaskId,
    TaskOwner, TaskState,
};

use symbolize::SearchPaths;

use crate::async_task::AsyncTaskFinder;
use crate::boxed::BoxedFinder;
use crate::cpp::CppFinder;
use crate::finder::{Finder, FoundTask, FoundTasks};
use crate::inspector::changes::RecordedTasks;
use crate::inspector::futures::{FutureByTask, Futures};
use crate::inspector::holders::WakerOwners;
use crate::inspector::identities::Identities;
use crate::stack_ranges::StackRanges;
use crate::target::Target;
use crate::target::error::TargetError;
use crate::threads::inspector::{InspectedThreads, ThreadInspector};
use crate::threads::polled::PollableTask;
use crate::tokio::TokioFinder;

pub use identities::TraceIds;

/// Inspects a process, or a core file.
///
/// Each inspection yields records of the tasks and threads that are new or differ from the inspection
/// before.
pub struct Inspector {
    target: Box<dyn Target>,
    process: ProcessId,
    finders: Vec<Box<dyn Finder>>,
    stacks: StackRanges,
    identities: Identities,
    changes: RecordedTasks,
    threads: ThreadInspector,
    futures: Futures,
    boxed: BoxedFinder,
    inspections: u32,
}

impl Inspector {
    /// Prepares to inspect `target`. `process` is its number in the trace. The types of futures are read
    /// from the program's file, or from its separate debug file.
    pub fn new(target: Box<dyn Target>, process: ProcessId) -> Self {
        Self::with_search_paths(target, process, SearchPaths::recorded())
    }

    /// Like [`new`](Self::new), but looks for files with debug info in `search_paths`.
    pub fn with_search_paths(
        target: Box<dyn Target>,
        process: ProcessId,
        search_paths: SearchPaths,
    ) -> Self {
        Inspector {
            target,
            process,
            finders: vec![
                Box::new(TokioFinder::default()),
                Box::new(AsyncTaskFinder::default()),
                Box::new(CppFinder::new(search_paths.clone())),
            ],
            stacks: StackRanges::default(),
            identities: Identities::default(),
            changes: RecordedTasks::default(),
            threads: ThreadInspector::new(search_paths.clone()),
            futures: Futures::new(search_paths),
            boxed: BoxedFinder::default(),
            inspections: 0,
        }
    }

    /// Inspects the process. The records begin with an [`Inspection`] and end with an [`InspectionEnd`].
    ///
    /// # Errors
    /// The process has exited, or runs another program by now.
    pub fn inspect(&mut self, ids: &mut TraceIds) -> Result<Vec<Record>, TargetError> {
        let at = self.target.now();
        self.target.refresh()?;
        self.inspections += 1;
        self.stacks.refresh(&*self.target);
        let mut found = FoundTasks::default();
        for finder in &mut self.finders {
            found.add(finder.find(&*self.target, &self.stacks));
        }
        let read = self.read_tasks(&found.tasks, ids)?;
        let mut records = vec![Record::Inspection(Inspection {
            process: self.process,
            number: self.inspections,
            at,
            core_file: self.target.core_file().to_vec(),
            only_threads: false,
        })];
        records.extend(read.stacks.into_iter().map(Record::AwaitStack));
        let ended = self.changes.replace(read.tasks, &mut records);
        self.identities.forget(&ended);
        let threads = read.threads.changed.into_iter();
        records.extend(threads.map(Record::InspectedThread));
        records.push(Record::InspectionEnd(InspectionEnd {
            process: self.process,
            number: self.inspections,
            at: self.target.now(),
            ended,
            ended_threads: read.threads.ended,
            runtimes: found.runtimes,
            gaps: [self.target.gaps(), found.gaps, read.threads.gaps, read.gaps].concat(),
        }));
        Ok(records)
    }

    /// Inspects the threads only, which takes much less time. The records say nothing about tasks.
    ///
    /// # Errors
    /// As for [`inspect`](Self::inspect).
    pub fn inspect_only_threads(&mut self) -> Result<Vec<Record>, TargetError> {
        let at = self.target.now();
        self.target.refresh()?;
        self.inspections += 1;
        let threads = self.threads.inspect(&*self.target, self.process, &[]);
        self.target.refresh()?;
        let mut records = vec![Record::Inspection(Inspection {
            process: self.process,
            number: self.inspections,
            at,
            only_threads: true,
            ..Inspection::default()
        })];
        records.extend(threads.changed.into_iter().map(Record::InspectedThread));
        records.push(Record::InspectionEnd(InspectionEnd {
            process: self.process,
            number: self.inspections,
            at: self.target.now(),
            ended_threads: threads.ended,
            gaps: [self.target.gaps(), threads.gaps].concat(),
            ..InspectionEnd::default()
        }));
        Ok(records)
    }

    /// Reads the threads, and the futures of tasks and threads and in boxes.
    fn read_tasks(
        &mut self,
        tasks: &[FoundTask],
        ids: &mut TraceIds,
    ) -> Result<ReadTasks, TargetError> {
        let numbers = self.numbers_of(tasks, ids);
        let threads = self.inspect_threads(tasks, &numbers);
        let target = &*self.target;
        let memory = (target, &self.stacks);
        let futures = self.futures.read(memory, tasks, &numbers, ids);
        let threads_of = (target, self.process);
        let numbered = (&numbers, &mut *ids);
        let roots = roots::read(
            threads_of,
            &self.threads,
            &mut self.futures,
            &mut self.identities,
            numbered,
        );
        let boxes = boxes::read(
            (target, &self.stacks, self.process),
            (&mut self.boxed, &mut self.futures, &mut self.identities),
            (tasks, &futures.tasks, &roots),
            (&numbers, ids),
        );
        // What was found may be inconsistent if the process ended meanwhile.
        self.target.refresh()?;
        let mut read = ReadTasks {
            tasks: self.records_of(tasks, &numbers, futures.tasks),
            stacks: futures.stacks,
            threads,
            gaps: futures.gaps,
        };
        read.tasks.extend(roots.tasks);
        read.tasks.extend(boxes.tasks);
        read.stacks.extend(roots.stacks);
        read.stacks.extend(boxes.stacks);
        read.gaps.extend(boxes.gaps);
        Ok(read)
    }

    /// The numbers that the tasks have in the trace, by the address of the task.
    fn numbers_of(&mut self, tasks: &[FoundTask], ids: &mut TraceIds) -> HashMap<u64, TaskId> {
        let numbers = tasks
            .iter()
            .map(|task| (task.address, self.identities.number(task, ids)));
        numbers.collect()
    }

    fn inspect_threads(
        &mut self,
        tasks: &[FoundTask],
        numbers: &HashMap<u64, TaskId>,
    ) -> InspectedThreads {
        let pollable = tasks.iter().filter_map(|task| {
            Some(PollableTask {
                id: *numbers.get(&task.address)?,
                address: task.address,
                running: task.running_flag()?,
            })
        });
        let mut pollable: Vec<_> = pollable.collect();
        pollable.sort_unstable_by_key(|task| task.address);
        self.threads.inspect(&*self.target, self.process, &pollable)
    }

    fn records_of(
        &self,
        tasks: &[FoundTask],
        numbers: &HashMap<u64, TaskId>,
        mut futures: FutureByTask,
    ) -> Vec<InspectedTask> {
        let threads = self.threads.by_polled_task();
        let interests = self.target.epoll_interests();
        let holders = WakerOwners::new(&*self.target, tasks, numbers, &self.stacks, &interests);
        let records = tasks.iter().map(|task| {
            let (stack, future) = futures.remove(&task.address).unwrap_or_default();
            InspectedTask {
                id: numbers[&task.address],
                process: self.process,
                kind: task.kind,
                address: task.address,
                runtime_id: task.runtime_id,
                spawned_at: task.spawned_at.clone(),
                state: task.state,
                wakers: task.wakers,
                waker_holders: holders.of(task, &future.wakers),
                polled_by: polled_by(task, threads.get(&numbers[&task.address])),
                name: future.name,
                stack,
                waits: future.waits,
                holds: future.holds,
                size_bytes: task.layout.size_bytes,
                may_be_freed: task.may_be_freed,
                coroutine: CoroutineId::default(),
                owner: TaskOwner::default(),
            }
        });
        records.collect()
    }
}

/// The threads and all futures of an inspection.
struct ReadTasks {
    tasks: Vec<InspectedTask>,
    stacks: Vec<AwaitStack>,
    threads: InspectedThreads,
    gaps: Vec<String>,
}

/// The id of the thread that polls a task, or 0. `blocked` is a thread that is blocked in a poll of the task.
/// Without such a thread, a running task is polled by the only thread that has the task's address on its
/// stack.
fn polled_by(task: &FoundTask, blocked: Option<&u32>) -> u32 {
    match (blocked, &task.stacks[..]) {
        (Some(tid), _) => *tid,
        (None, [tid]) if task.state == TaskState::Running => *tid,
        _ => 0,
    }
}
