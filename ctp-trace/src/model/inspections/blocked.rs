//! Which inspected tasks wait for each other, through locks and joins.

use std::collections::{BTreeMap, BTreeSet};

use super::InspectedProcess;
use super::evidence::{InnermostFuture, leaves};
use crate::record::{
    AwaitStack, AwaitStackId, CoroutineId, InspectedTask, Nanos, Resource, TaskId, TaskKind,
    TaskOwner, TaskState,
};
use crate::verdict::inspected::BlockedEvidence;
use crate::verdict::{Needs, WaitsFor, deadlocks, remaining};

/// The wait-for graph of a process. A task that waits for several things is assumed to need only one of
/// them.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    /// For each blocked task, the tasks of which one must continue first.
    edges: BTreeMap<TaskId, Vec<TaskId>>,
    /// Tasks that wait only for resources with a single, exclusive holder.
    exclusive: BTreeSet<TaskId>,
    /// The cycles. Each task waits for the next, and the last for the first.
    pub(super) cycles: Vec<Vec<TaskId>>,
    evidence: BTreeMap<TaskId, BlockedEvidence>,
}

/// The tasks that hold each lock.
pub(super) struct LockHolders<'p>(BTreeMap<Resource, Vec<(&'p InspectedTask, bool)>>);

impl<'p> LockHolders<'p> {
    pub(super) fn of(process: &'p InspectedProcess) -> Self {
        let mut holders: BTreeMap<Resource, Vec<_>> = BTreeMap::new();
        let tasks = process.tasks.values().map(|known| &known.latest);
        for task in tasks.filter(|task| !task.may_be_freed) {
            for hold in &task.holds {
                let of_lock = holders.entry(hold.resource).or_default();
                of_lock.push((task, hold.is_exclusive));
            }
        }
        LockHolders(holders)
    }

    /// The known holders of a lock, for a task that waits for the lock.
    ///
    /// A lock that a boxed future in a set holds is known to be held by the future and by the task with the set. Then
    /// the future is the holder for boxed futures, and the task is the holder for all others.
    pub(super) fn get(
        &self,
        resource: Resource,
        waiter: &InspectedTask,
    ) -> Vec<(&'p InspectedTask, bool)> {
        let all = self.0.get(&resource).map_or(&[][..], Vec::as_slice);
        let owns = |owner: TaskId, of: &InspectedTask| of.owner == TaskOwner::Task(owner);
        let holders = all.iter().filter(|(holder, _)| {
            let mut others = all.iter();
            if waiter.kind == TaskKind::Boxed {
                !others.any(|(other, _)| owns(holder.id, other))
            } else {
                !others.any(|(other, _)| owns(other.id, holder))
            }
        });
        holders.copied().collect()
    }
}

impl Blocked {
    pub(super) fn of(
        process: &InspectedProcess,
        holders: &LockHolders,
        stacks: &BTreeMap<AwaitStackId, AwaitStack>,
    ) -> Self {
        let mut blocked = Blocked::default();
        for known in process.tasks.values() {
            blocked.add(process, holders, &known.latest, stacks);
        }
        let waits: WaitsFor = blocked.edges.iter().map(waits_for).collect();
        let stay = remaining(&waits);
        let cycles = deadlocks(&waits).into_iter();
        blocked.cycles = cycles
            .map(|cycle| cycle.into_iter().map(task_of).collect())
            .collect();
        blocked.note_cycles();
        let stay: BTreeSet<TaskId> = stay.into_iter().map(task_of).collect();
        blocked.note_behind(&stay);
        blocked
    }

    /// Adds what the task waits for. If a holder is known for everything that the task waits for, all of
    /// it is added, otherwise only the locks with known holders.
    fn add(
        &mut self,
        process: &InspectedProcess,
        holders: &LockHolders,
        task: &InspectedTask,
        stacks: &BTreeMap<AwaitStackId, AwaitStack>,
    ) {
        let leaves = leaves(task, stacks.get(&task.stack));
        if task.state != TaskState::Idle || task.may_be_freed || leaves.is_empty() {
            return;
        }
        let of_leaves = leaves
            .iter()
            .map(|leaf| (leaf, blockers(process, holders, leaf, task)));
        let of_leaves: Vec<_> = of_leaves.collect();
        let has_other = of_leaves.iter().any(|(_, blockers)| blockers.is_none());
        if has_other && leaves.iter().any(InnermostFuture::is_running_timer) {
            return;
        }
        // Another branch may let the task continue. So only locks count, and nothing is certain.
        let counted = of_leaves
            .into_iter()
            .filter(|(leaf, _)| !has_other || is_lock(leaf));
        let blockers: Vec<_> = counted.filter_map(|(_, blockers)| blockers).collect();
        let is_exclusive = !has_other && blockers.iter().all(|(_, is_exclusive)| *is_exclusive);
        // What polls a future inside a task may also drop the future.
        let may_be_dropped = matches!(task.kind, TaskKind::Child | TaskKind::Boxed);
        if is_exclusive && !may_be_dropped {
            self.exclusive.insert(task.id);
        }
        let others: Vec<_> = blockers.into_iter().flat_map(|(ids, _)| ids).collect();
        if !others.is_empty() {
            self.edges.insert(task.id, others);
        }
    }

    fn note_cycles(&mut self) {
        for cycle in &self.cycles {
            let is_exclusive = cycle.iter().all(|id| self.exclusive.contains(id));
            let evidence = BlockedEvidence::Cycle { is_exclusive };
            self.evidence.extend(cycle.iter().map(|id| (*id, evidence)));
        }
    }

    /// Notes the tasks that wait for members of cycles. This alone does not make their verdict certain.
    fn note_behind(&mut self, stay: &BTreeSet<TaskId>) {
        for id in stay {
            let behind = BlockedEvidence::Behind { is_certain: false };
            self.evidence.entry(*id).or_insert(behind);
        }
    }

    /// What is known of the task.
    pub(super) fn evidence(&self, id: TaskId) -> BlockedEvidence {
        self.evidence.get(&id).copied().unwrap_or_default()
    }

    /// The tasks that the task waits for.
    pub(super) fn blockers(&self, id: TaskId) -> &[TaskId] {
        self.edges.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether each thing that the task waits for has a single, exclusive holder.
    pub(super) fn is_exclusive(&self, id: TaskId) -> bool {
        self.exclusive.contains(&id)
    }

    /// The cycle of a task.
    pub(super) fn cycle(&self, id: TaskId) -> Option<&[TaskId]> {
        let cycle = self.cycles.iter().find(|cycle| cycle.contains(&id))?;
        Some(cycle)
    }

    /// The tasks that wait for some task.
    pub(super) fn waiting(&self) -> impl Iterator<Item = TaskId> {
        self.edges.keys().copied()
    }

    /// The shortest time for which any member of the task's cycle has not changed.
    pub(super) fn unchanged(&self, process: &InspectedProcess, id: TaskId) -> Option<Nanos> {
        let members = self.cycle(id)?.iter();
        let known = members.filter_map(|id| process.tasks.get(id));
        known.map(|known| process.since(known.since)).min()
    }
}

/// The tasks of which one must continue before the future can, and whether it is a single task that holds
/// the resource exclusively. `None` if something else can let the future continue.
fn blockers(
    process: &InspectedProcess,
    holders: &LockHolders,
    leaf: &InnermostFuture,
    waiter: &InspectedTask,
) -> Option<(Vec<TaskId>, bool)> {
    let resource = leaf.wait?.resource;
    if let Resource::Task(id) = resource {
        return process.tasks.contains_key(&id).then(|| (vec![id], true));
    }
    let of_lock = holders.get(resource, waiter);
    let ids: Vec<TaskId> = of_lock.iter().map(|(task, _)| task.id).collect();
    let is_exclusive = matches!(of_lock[..], [(_, true)]);
    (!ids.is_empty()).then_some((ids, is_exclusive))
}

fn is_lock(leaf: &InnermostFuture) -> bool {
    leaf.wait.is_some_and(|wait| {
        matches!(
            wait.resource,
            Resource::Mutex(_) | Resource::RwLock(_) | Resource::Semaphore(_)
        )
    })
}

fn waits_for((id, others): (&TaskId, &Vec<TaskId>)) -> (CoroutineId, Needs) {
    let of = others.iter().map(|id| CoroutineId(id.0)).collect();
    (CoroutineId(id.0), Needs { of, all: false })
}

fn task_of(id: CoroutineId) -> TaskId {
    TaskId(id.0)
}
