//! What the inspections of each process found: the latest state of tasks and threads, and since which
//! inspection each has not changed.

mod blocked;
mod calls;
mod evidence;
mod threads;

use std::collections::BTreeMap;

use super::TraceModel;
use super::coroutine::Coroutine;
use crate::record::{
    AwaitStack, AwaitStackId, InspectedTask, InspectedThread, InspectionEnd, Nanos, ProcessId,
    Record, TaskId, TaskKind,
};

pub use evidence::{JudgedTask, innermost};
pub use threads::{KnownThread, KnownThreads, ThreadActivity, ThreadFacts};

/// The inspections of all processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Inspections {
    processes: BTreeMap<ProcessId, InspectedProcess>,
    stacks: BTreeMap<AwaitStackId, AwaitStack>,
}

/// What the complete inspections of a process found. Inspections that read only threads change
/// [`by_thread`](Self::by_thread) alone, so that times of tasks and threads are never mixed.
#[derive(Clone, Debug, Default)]
pub struct InspectedProcess {
    /// Path of the core file that was inspected; empty for a running process.
    pub core_file: Vec<u8>,
    /// When each inspection was made.
    pub times: Vec<InspectionTime>,
    /// The tasks at the last inspection.
    pub tasks: BTreeMap<TaskId, Inspected<InspectedTask>>,
    /// The threads at the last inspection, by the kernel's id.
    pub threads: BTreeMap<u32, Inspected<InspectedThread>>,
    /// The runtimes found by the last inspection.
    pub runtimes: Vec<String>,
    /// What the last inspection could not read or understand.
    pub gaps: Vec<String>,
    /// The threads by all inspections.
    pub by_thread: KnownThreads,
    unfinished: UnfinishedInspection,
}

/// When an inspection was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InspectionTime {
    /// When reading began.
    pub began: Nanos,
    /// When reading ended.
    pub ended: Nanos,
}

/// A task or thread at the last inspection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspected<T> {
    /// What the last inspection found.
    pub latest: T,
    /// The index of the first inspection since which nothing has changed.
    pub since: usize,
    /// The index of the first inspection since which the task or thread has had the same state.
    pub in_state_since: usize,
}

/// Records of an inspection that is not complete yet.
#[derive(Clone, Debug, Default)]
struct UnfinishedInspection {
    began: Nanos,
    only_threads: bool,
    tasks: Vec<InspectedTask>,
    threads: Vec<InspectedThread>,
}

impl TraceModel {
    /// The processes of which threads were inspected, alone or with the tasks.
    pub fn inspected_threads(&self) -> impl Iterator<Item = (ProcessId, &KnownThreads)> {
        let all = self.inspections.processes.iter();
        all.map(|(id, process)| (*id, &process.by_thread))
            .filter(|(_, threads)| !threads.times.is_empty())
    }

    /// Whether the thread on which a coroutine runs has been blocked all along in a call that only
    /// another thread of the process ends, as in a lock.
    pub(super) fn is_thread_parked(&self, coroutine: &Coroutine) -> bool {
        let process = self.inspections.processes.get(&coroutine.process);
        let tid = coroutine.last.and_then(|last| u32::try_from(last.tid).ok());
        let Some((process, tid)) = process.zip(tid) else {
            return false;
        };
        let facts = process.by_thread.facts(tid, coroutine.state().1);
        facts.is_some_and(|facts| {
            facts.activity == ThreadActivity::Blocked && facts.thread.call == "futex"
        })
    }

    /// The processes of which tasks and threads were inspected.
    pub fn inspected(&self) -> impl Iterator<Item = (ProcessId, &InspectedProcess)> {
        let all = self.inspections.processes.iter();
        all.filter(|(_, process)| !process.times.is_empty())
            .map(|(id, process)| (*id, process))
    }

    /// The await stack with this number.
    pub fn await_stack(&self, id: AwaitStackId) -> Option<&AwaitStack> {
        self.inspections.stacks.get(&id)
    }
}

impl Inspections {
    pub(super) fn consume(&mut self, record: &Record) {
        match record {
            Record::Inspection(begin) => {
                let process = self.processes.entry(begin.process).or_default();
                process.unfinished = UnfinishedInspection {
                    began: begin.at,
                    only_threads: begin.only_threads,
                    ..UnfinishedInspection::default()
                };
                process.core_file.clone_from(&begin.core_file);
            }
            Record::AwaitStack(stack) => {
                self.stacks.insert(stack.id, stack.clone());
            }
            Record::InspectedTask(task) => {
                let process = self.processes.entry(task.process).or_default();
                process.unfinished.tasks.push((**task).clone());
            }
            Record::InspectedThread(thread) => {
                let process = self.processes.entry(thread.process).or_default();
                process.unfinished.threads.push(thread.clone());
            }
            Record::InspectionEnd(end) => {
                self.processes.entry(end.process).or_default().finish(end);
            }
            _ => {}
        }
    }
}

impl InspectedProcess {
    /// Whether a core file was inspected, in which all memory is of the same moment.
    pub fn is_core_file(&self) -> bool {
        !self.core_file.is_empty()
    }

    /// Takes the end of an inspection, which makes the inspection's records valid.
    fn finish(&mut self, end: &InspectionEnd) {
        let unfinished = std::mem::take(&mut self.unfinished);
        let time = InspectionTime {
            began: unfinished.began,
            ended: end.at,
        };
        self.by_thread
            .add(time, unfinished.threads, &end.ended_threads, &end.gaps);
        if !unfinished.only_threads {
            self.times.push(time);
            self.add_tasks(unfinished.tasks, &end.ended);
            self.take_threads();
            self.leave_out_workers();
            self.runtimes.clone_from(&end.runtimes);
            self.gaps.clone_from(&end.gaps);
        }
    }

    fn add_tasks(&mut self, tasks: Vec<InspectedTask>, ended: &[TaskId]) {
        let number = self.times.len() - 1;
        for id in ended {
            self.tasks.remove(id);
        }
        for task in tasks {
            let before = self.tasks.get(&task.id);
            let known = Inspected::after(before, task, number, |task| (task.state, task.polled_by));
            self.tasks.insert(known.latest.id, known);
        }
    }

    /// Takes over the threads as this inspection found them.
    fn take_threads(&mut self) {
        let number = self.times.len() - 1;
        let now = self.by_thread.threads.iter().map(|(tid, known)| {
            let before = self.threads.get(tid);
            let inspected = Inspected::after(before, known.latest.clone(), number, |thread| {
                (thread.syscall, thread.switches)
            });
            (*tid, inspected)
        });
        self.threads = now.collect();
    }

    /// Leaves out the closures in which threads of the blocking pool run as workers. They are no tasks of
    /// the program.
    fn leave_out_workers(&mut self) {
        let threads = &self.threads;
        self.tasks.retain(|_, task| {
            let thread = threads.get(&task.latest.polled_by);
            task.latest.kind != TaskKind::Blocking
                || thread.is_none_or(|thread| !thread.latest.role.is_worker())
        });
    }

    /// The time from the end of the inspection with this index to the start of the last.
    pub fn since(&self, index: usize) -> Nanos {
        match (self.times.get(index), self.times.last()) {
            (Some(first), Some(last)) => first.ended.until(last.began),
            _ => Nanos(0),
        }
    }
}

impl<T: PartialEq> Inspected<T> {
    /// Replaces what an earlier inspection found. `state` returns the part that counts as the state.
    fn after<S: PartialEq>(
        before: Option<&Self>,
        latest: T,
        number: usize,
        state: impl Fn(&T) -> S,
    ) -> Self {
        let same = before.filter(|before| before.latest == latest);
        let in_state = before.filter(|before| state(&before.latest) == state(&latest));
        Inspected {
            since: same.map_or(number, |before| before.since),
            in_state_since: in_state.map_or(number, |before| before.in_state_since),
            latest,
        }
    }
}
