//! [`Entries`]: the boxed futures that are tasks of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ctp_trace::record::{
    AwaitFrame, AwaitStackId, InspectedTask, ProcessId, TaskId, TaskKind, TaskOwner, TaskState,
};

use super::parts::{OwnBox, Parts};
use crate::awaits::{AwaitReader, BoxedFuture, BoxedState};
use crate::boxed::held::HeldFutures;
use crate::boxed::live::LiveBox;
use crate::boxed::owners::{Holder, TaskMemory};
use crate::finder::{FoundTask, TaskLayout};
use crate::glibc_heap::Heaps;
use crate::inspector::identities::{Identities, TraceIds};
use crate::target::Target;

/// Boxed futures, by address.
#[derive(Debug, Default)]
pub(super) struct Entries {
    entries: BTreeMap<u64, Entry>,
    /// The boxed futures that are parts of others, each with the address of the other.
    parts: HashMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Entry {
    id: TaskId,
    own: OwnBox,
    future: BoxedFuture,
}

impl Entries {
    /// Reads these futures. `numbers` has the tasks by address.
    pub(super) fn read(
        target: &dyn Target,
        awaits: &AwaitReader,
        boxes: Vec<OwnBox>,
        numbers: &HashMap<u64, TaskId>,
    ) -> Self {
        let tasks = |header| numbers.get(&header).copied();
        let entries = boxes.into_iter().map(|own| {
            let address = own.live.address;
            let future = awaits.read_boxed(target, address, own.live.vtable, &tasks);
            let entry = Entry {
                own,
                future,
                ..Entry::default()
            };
            (address, entry)
        });
        Entries {
            entries: entries.collect(),
            parts: HashMap::new(),
        }
    }

    /// Leaves out the futures that another boxed future polls whenever that future is polled.
    pub(super) fn keep_outermost(&mut self) {
        for (address, entry) in &self.entries {
            let polled = entry.future.awaits.polled.iter().flatten();
            let parts = polled.map(|part| part.start);
            let parts = parts.filter(|part| part != address);
            self.parts.extend(parts.map(|part| (part, *address)));
        }
        let parts = &self.parts;
        self.entries
            .retain(|address, _| !parts.contains_key(address));
    }

    /// Leaves out the futures that were dropped meanwhile, and those whose boxes were moved, unless what holds them is
    /// known regardless.
    pub(super) fn retain_live(&mut self, target: &dyn Target, heaps: &Heaps<'_>) {
        self.entries.retain(|_, entry| {
            let before = entry.own.live.pointers.len();
            entry.own.live.retain_unchanged(target, heaps);
            let now = entry.own.live.pointers.len();
            let holder = &entry.own.outermost;
            let is_fixed = matches!(holder, Holder::Static(_) | Holder::Thread(_));
            now == before || is_fixed && 0 < now
        });
    }

    /// Leaves out the futures whose boxes are only remains of boxes by now.
    pub(super) fn retain_held(&mut self, read: (&dyn Target, &AwaitReader), tasks: &TaskMemory) {
        let boxes = self.entries.values().map(|entry| entry.own.live.clone());
        let mut boxes: Vec<LiveBox> = boxes.collect();
        HeldFutures::of(read, tasks, &boxes).retain(&mut boxes);
        let held: BTreeSet<u64> = boxes.iter().map(|live| live.address).collect();
        self.entries.retain(|address, _| held.contains(address));
    }

    /// What holds the outermost of the boxed futures that hold each future.
    pub(super) fn outermost_holders(&self) -> impl Iterator<Item = &Holder> {
        self.entries.values().map(|entry| &entry.own.outermost)
    }

    /// Keeps the futures of which `is_kept` returns true, given the address.
    pub(super) fn retain(&mut self, is_kept: impl Fn(u64, &OwnBox) -> bool) {
        self.entries
            .retain(|address, entry| is_kept(*address, &entry.own));
    }

    /// Gives the futures their numbers in the trace.
    pub(super) fn number(&mut self, identities: &mut Identities, ids: &mut TraceIds) {
        for entry in self.entries.values_mut() {
            let identity = FoundTask {
                address: entry.own.live.address,
                kind: TaskKind::Boxed,
                layout: TaskLayout {
                    identity: entry.own.live.vtable,
                    ..TaskLayout::default()
                },
                ..FoundTask::default()
            };
            entry.id = identities.number(&identity, ids);
        }
    }

    /// The futures as tasks. `stack` numbers an await stack.
    pub(super) fn records(
        &self,
        process: ProcessId,
        parts: &Parts,
        stack: &mut dyn FnMut(Vec<AwaitFrame>) -> AwaitStackId,
    ) -> Vec<InspectedTask> {
        let entries = self.entries.values().map(|entry| {
            let awaits = entry.future.awaits.clone();
            InspectedTask {
                id: entry.id,
                process,
                kind: TaskKind::Boxed,
                address: entry.own.live.address,
                name: awaits.name,
                state: task_state(entry.future.state),
                stack: stack(awaits.frames),
                waits: awaits.waits,
                holds: awaits.holds,
                size_bytes: entry.own.live.size_bytes,
                may_be_freed: entry.own.live.may_be_freed,
                owner: self.owner(&entry.own.holder, parts),
                ..InspectedTask::default()
            }
        });
        entries.collect()
    }

    fn owner(&self, holder: &Holder, parts: &Parts) -> TaskOwner {
        let task = match holder {
            Holder::Static(path) => return TaskOwner::Static(path.clone()),
            Holder::Thread(tid) => return TaskOwner::Thread(*tid),
            Holder::Unknown | Holder::OtherTask => None,
            Holder::Task(address) => parts.task_at(*address),
            Holder::Boxed(address) => parts.polling(*address).or_else(|| self.task_with(*address)),
        };
        task.map_or(TaskOwner::Unknown, TaskOwner::Task)
    }

    /// The task that a boxed future is, or is part of.
    fn task_with(&self, address: u64) -> Option<TaskId> {
        let entry = self.entries.get(&outermost(&self.parts, address))?;
        Some(entry.id)
    }

    /// Sentences about what could not be read.
    pub(super) fn gaps(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in self.entries.values() {
            for gap in &entry.future.awaits.gaps {
                *counts.entry(gap).or_default() += 1;
            }
        }
        let counts = counts.into_iter();
        counts.map(counted).collect()
    }
}

/// The outermost of the futures that poll the future at `address` whenever they are polled themselves.
fn outermost(parts: &HashMap<u64, u64>, mut address: u64) -> u64 {
    for _ in 0..=parts.len() {
        match parts.get(&address) {
            Some(outer) => address = *outer,
            None => break,
        }
    }
    address
}

fn counted((gap, count): (&str, usize)) -> String {
    let futures = if count == 1 { "future" } else { "futures" };
    format!("{count} boxed {futures}: {gap}")
}

/// The state of a boxed future as a task. The trace has no unknown state. Idle is no accusation: a future without known
/// waits gets no bad verdict.
fn task_state(state: BoxedState) -> TaskState {
    match state {
        BoxedState::Suspended | BoxedState::Unknown => TaskState::Idle,
        BoxedState::NotStarted => TaskState::NotStarted,
        BoxedState::Finished => TaskState::Finished,
    }
}
