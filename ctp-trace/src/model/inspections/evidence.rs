//! The evidence about each inspected task, for the rule.

use std::collections::BTreeMap;

use super::blocked::{Blocked, LockHolders};
use super::calls;
use super::{Inspected, InspectedProcess};
use crate::model::TraceModel;
use crate::record::{
    AwaitFrame, AwaitStack, InspectedTask, InspectedThread, Nanos, ProcessId, Resource, TaskId,
    TaskKind, TaskState, TaskWait, ThreadRole, WakerHolder,
};
use crate::verdict::inspected::{
    BlockedEvidence, InspectedEvidence, InspectedJudgement, LeafEvidence, PollingThread,
    WorkerEvidence, judge_inspected,
};
use crate::verdict::{MIN_OBSERVATION_GAP, Verdict};

/// A task with its verdict.
#[derive(Clone, Debug)]
pub struct JudgedTask<'m> {
    /// The process of the task.
    pub process: ProcessId,
    /// What the last inspection found.
    pub task: &'m InspectedTask,
    /// The await stack, if known.
    pub stack: Option<&'m AwaitStack>,
    /// The evidence.
    pub evidence: InspectedEvidence,
    /// The verdict.
    pub judgement: InspectedJudgement,
    /// The tasks of which one must continue first, for a task that is blocked by others.
    pub blockers: Vec<TaskId>,
    /// The cycle of the task. Each task waits for the next, and the last for the first.
    pub cycle: Vec<TaskId>,
}

/// An innermost future of a task.
pub(super) struct InnermostFuture<'t> {
    frame: &'t AwaitFrame,
    /// What the future waits for, if known.
    pub(super) wait: Option<&'t TaskWait>,
    /// The future is the timer of a timeout around another future.
    is_of_timeout: bool,
}

impl InnermostFuture<'_> {
    /// Whether the future has registered a waker. A future that may be meant to wait forever needs none.
    fn has_waker(&self) -> Option<bool> {
        if self.frame.may_wait_forever {
            return Some(true);
        }
        self.wait?.has_waker
    }

    /// Whether it is unknown if the future has a waker. False for a future that always registers a waker.
    fn is_unsettled(&self) -> bool {
        let always_registers = self.wait.is_some_and(|wait| wait.always_registers);
        self.has_waker().is_none() && !always_registers
    }

    /// Whether the future is a timer that will wake the task, so that all other branches are polled again.
    pub(super) fn is_running_timer(&self) -> bool {
        self.wait.is_some_and(|wait| {
            matches!(wait.resource, Resource::Timer(_)) && wait.has_waker != Some(false)
        })
    }
}

impl TraceModel {
    /// Judges the tasks of all inspected processes. `threshold` is how long a timer must be overdue.
    pub fn judge_inspected(&self, threshold: Nanos) -> Vec<JudgedTask<'_>> {
        self.inspected()
            .flat_map(|(id, process)| self.judge_process(id, process, threshold))
            .collect()
    }

    fn judge_process<'m>(
        &'m self,
        id: ProcessId,
        process: &'m InspectedProcess,
        threshold: Nanos,
    ) -> Vec<JudgedTask<'m>> {
        let holders = LockHolders::of(process);
        let blocked = Blocked::of(process, &holders, &self.inspections.stacks);
        let workers = process.workers();
        let judged = process.tasks.values().map(|known| {
            let stack = self.await_stack(known.latest.stack);
            let evidence = InspectedEvidence {
                workers: workers_of(&known.latest, workers),
                ..process.evidence(known, stack, &holders, &blocked)
            };
            JudgedTask {
                process: id,
                task: &known.latest,
                stack,
                evidence,
                judgement: judge_inspected(&evidence, threshold),
                blockers: blocked.blockers(known.latest.id).to_vec(),
                cycle: blocked.cycle(known.latest.id).unwrap_or_default().to_vec(),
            }
        });
        let mut judged: Vec<_> = judged.collect();
        judge_those_behind(&mut judged, &blocked, threshold);
        judged
    }
}

/// Judges the tasks that can continue only after stuck tasks, from the stuck tasks outwards.
fn judge_those_behind(judged: &mut [JudgedTask], blocked: &Blocked, threshold: Nanos) {
    let at: BTreeMap<TaskId, usize> = (0..)
        .zip(&*judged)
        .map(|(at, member)| (member.task.id, at))
        .collect();
    let mut waiters: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    for id in blocked.waiting() {
        for blocker in blocked.blockers(id) {
            waiters.entry(*blocker).or_default().push(id);
        }
    }
    let stuck = judged.iter().filter(|member| is_cause(member));
    let mut causes: Vec<TaskId> = stuck.map(|member| member.task.id).collect();
    while let Some(cause) = causes.pop() {
        for waiter in waiters.get(&cause).into_iter().flatten() {
            let Some(behind) = behind(judged, &at, blocked, *waiter) else {
                continue;
            };
            let member = &mut judged[at[waiter]];
            if !is_weaker(member.evidence.blocked, behind) {
                continue;
            }
            member.evidence.blocked = behind;
            member.judgement = judge_inspected(&member.evidence, threshold);
            if is_cause(member) {
                causes.push(*waiter);
            }
        }
    }
}

fn is_cause(member: &JudgedTask) -> bool {
    member.judgement.verdict.is_stuck()
}

/// Whether the new evidence says more. If only such evidence is taken, each task changes at most twice.
fn is_weaker(now: BlockedEvidence, new: BlockedEvidence) -> bool {
    let certain = BlockedEvidence::Behind { is_certain: true };
    let likely = BlockedEvidence::Behind { is_certain: false };
    now == BlockedEvidence::No || (now == likely && new == certain)
}

/// The evidence of a task if all tasks that it waits for are stuck.
fn behind(
    judged: &[JudgedTask],
    at: &BTreeMap<TaskId, usize>,
    blocked: &Blocked,
    waiter: TaskId,
) -> Option<BlockedEvidence> {
    let blockers = blocked.blockers(waiter).iter();
    let verdicts: Vec<Verdict> = blockers
        .map(|id| Some(judged[*at.get(id)?].judgement.verdict))
        .collect::<Option<_>>()?;
    let are_certain = verdicts
        .iter()
        .all(|verdict| matches!(verdict, Verdict::Stuck | Verdict::Deadlock));
    verdicts
        .iter()
        .all(|verdict| verdict.is_stuck())
        .then(|| BlockedEvidence::Behind {
            is_certain: blocked.is_exclusive(waiter) && are_certain,
        })
}

impl InspectedProcess {
    fn evidence(
        &self,
        known: &Inspected<InspectedTask>,
        stack: Option<&AwaitStack>,
        holders: &LockHolders,
        blocked: &Blocked,
    ) -> InspectedEvidence {
        let task = &known.latest;
        let leaves = leaves(task, stack);
        let unchanged = self.since(known.since);
        InspectedEvidence {
            state: task.state,
            unchanged: blocked
                .unchanged(self, task.id)
                .map_or(unchanged, |all| all.min(unchanged)),
            in_state: self.since(known.in_state_since),
            is_frozen: self.is_core_file() && !is_being_woken(task),
            wakers: task.wakers,
            only_own_wakers: has_only_own_wakers(task),
            leaf: leaf_evidence(task, &leaves, holders),
            blocked: blocked.evidence(task.id),
            overdue: self.overdue(known, &leaves),
            thread: self.polling_thread(task),
            workers: WorkerEvidence::Unknown,
            has_unknown_resumer: task.kind == TaskKind::Cpp,
            may_be_freed: task.may_be_freed,
        }
    }

    /// How long the task's earliest timer had been due at the last inspection. Only timers that wake the
    /// task count. `None` unless the timer was already due at the first inspection that found the task as
    /// it is now. `None` also for a core file, which does not say when it was written.
    fn overdue(
        &self,
        known: &Inspected<InspectedTask>,
        leaves: &[InnermostFuture],
    ) -> Option<Nanos> {
        if self.is_core_file() {
            return None;
        }
        let (first, last) = (self.times.get(known.since)?, self.times.last()?);
        let timers = leaves.iter().filter_map(|leaf| {
            let wait = leaf.wait?;
            let is_polled = leaf.is_of_timeout || leaves.len() == 1 || wait.always_registers;
            match wait.resource {
                Resource::Timer(deadline) => is_polled.then_some(deadline),
                _ => None,
            }
        });
        let due = timers.min()?;
        (due <= first.began).then(|| due.until(last.began))
    }

    /// What the thread that polls the task does. A closure of the blocking pool may block its thread, so
    /// this counts as running.
    fn polling_thread(&self, task: &InspectedTask) -> PollingThread {
        if task.kind == TaskKind::Blocking {
            return PollingThread::Runs;
        }
        let polling = self.threads.values().find(|known| {
            let thread = &known.latest;
            thread.polls == Some(task.id) || (task.polled_by != 0 && thread.tid == task.polled_by)
        });
        match polling {
            None => PollingThread::Unknown,
            Some(known) if self.is_blocked_poll(known) && self.is_core_file() => {
                PollingThread::InCall
            }
            Some(known) if self.is_blocked_poll(known) => PollingThread::Blocked,
            Some(_) => PollingThread::Runs,
        }
    }

    /// Whether the thread polls a task, and is blocked in the same call as at an earlier inspection. In a
    /// core file: whether the thread is in a call that usually waits.
    pub fn is_blocked_poll(&self, known: &Inspected<InspectedThread>) -> bool {
        let is_blocked = if self.is_core_file() {
            calls::is_waiting(&known.latest.call)
        } else {
            known.latest.syscall.is_some()
                && MIN_OBSERVATION_GAP <= self.since(known.in_state_since)
        };
        known.latest.role == ThreadRole::Polling && is_blocked
    }

    fn workers(&self) -> WorkerEvidence {
        let threads = self.threads.values();
        let workers: Vec<_> = threads
            .filter(|known| known.latest.role.is_worker())
            .collect();
        if workers.iter().all(|known| known.latest.is_stopped()) {
            return WorkerEvidence::Unknown;
        }
        if workers.iter().any(|known| self.is_blocked_poll(known)) {
            WorkerEvidence::Blocked
        } else if workers.iter().all(|known| self.is_parked(known)) {
            WorkerEvidence::Parked
        } else {
            WorkerEvidence::Active
        }
    }

    /// Whether the worker has been parked since an earlier inspection.
    fn is_parked(&self, known: &Inspected<InspectedThread>) -> bool {
        known.latest.role == ThreadRole::Parked
            && MIN_OBSERVATION_GAP <= self.since(known.in_state_since)
    }
}

/// What is known of the workers that run a task, if this is known of the workers of its process. Only tokio's parked
/// workers are known as such, and they do not run tasks of async-task. What polls a boxed future is not known.
fn workers_of(task: &InspectedTask, workers: WorkerEvidence) -> WorkerEvidence {
    match task.kind {
        TaskKind::Boxed => WorkerEvidence::Unknown,
        TaskKind::AsyncTask if workers == WorkerEvidence::Parked => WorkerEvidence::Unknown,
        _ => workers,
    }
}

/// Whether a thread has taken a waker of the task, to wake the task.
fn is_being_woken(task: &InspectedTask) -> bool {
    let mut holders = task.waker_holders.iter();
    holders.any(|holder| matches!(holder, WakerHolder::Thread(_)))
}

fn has_only_own_wakers(task: &InspectedTask) -> bool {
    let found = task.waker_holders.len() as u64;
    task.wakers
        .is_some_and(|wakers| 0 < wakers && u64::from(wakers) <= found)
        && task
            .waker_holders
            .iter()
            .all(|holder| *holder == WakerHolder::Own)
}

/// The indices of the innermost frames of a stack.
pub fn innermost(stack: &AwaitStack) -> Vec<usize> {
    let frames = &stack.frames;
    (0..frames.len())
        .filter(|at| {
            let next = frames.get(at + 1);
            next.is_none_or(|next| next.depth <= frames[*at].depth)
        })
        .collect()
}

/// The innermost futures of a task.
pub(super) fn leaves<'t>(
    task: &'t InspectedTask,
    stack: Option<&'t AwaitStack>,
) -> Vec<InnermostFuture<'t>> {
    let Some(stack) = stack else {
        return Vec::new();
    };
    let frames = innermost(stack);
    frames
        .iter()
        .map(|at| {
            let wait = task.waits.iter().find(|wait| wait.frame as usize == *at);
            let is_timer = wait.is_some_and(|wait| matches!(wait.resource, Resource::Timer(_)));
            InnermostFuture {
                frame: &stack.frames[*at],
                wait,
                is_of_timeout: is_timer && 1 < frames.len() && is_in_timeout(stack, *at),
            }
        })
        .collect()
}

/// Whether the future directly around this one is a timeout.
fn is_in_timeout(stack: &AwaitStack, at: usize) -> bool {
    let depth = stack.frames[at].depth;
    let around = stack.frames[..at].iter().rfind(|frame| frame.depth < depth);
    around.is_some_and(|frame| {
        let name = frame.name.split('<').next().unwrap_or_default();
        name.ends_with("Timeout") || name.ends_with("timeout")
    })
}

/// Whether the type behind the frame is not known: a trait object that could not be resolved.
fn is_unknown(frame: &AwaitFrame) -> bool {
    frame.name.is_empty() || frame.name.contains("dyn ")
}

fn leaf_evidence(
    task: &InspectedTask,
    leaves: &[InnermostFuture],
    holders: &LockHolders,
) -> LeafEvidence {
    if task.kind == TaskKind::Blocking {
        return LeafEvidence::MayWaitForever;
    }
    if leaves.is_empty() || leaves.iter().any(|leaf| is_unknown(leaf.frame)) {
        return LeafEvidence::Unknown;
    }
    let awaited = leaves.iter().filter(|leaf| !leaf.is_of_timeout);
    let awaited: Vec<&InnermostFuture> = awaited.collect();
    if awaited.iter().all(|leaf| leaf.frame.may_wait_forever) {
        return LeafEvidence::MayWaitForever;
    }
    let waits = || leaves.iter().filter_map(|leaf| leaf.wait);
    LeafEvidence::Known {
        always_registers: waits().any(|wait| wait.always_registers),
        has_no_waker: awaited.iter().any(|leaf| leaf.has_waker() == Some(false))
            && !awaited.iter().any(|leaf| leaf.is_running_timer()),
        is_unsettled: awaited.iter().any(|leaf| leaf.is_unsettled()),
        is_held_by_unknown: task.state == TaskState::Idle
            && waits().any(|wait| {
                matches!(wait.resource, Resource::Mutex(_) | Resource::RwLock(_))
                    && holders.get(wait.resource, task).is_empty()
            }),
    }
}
