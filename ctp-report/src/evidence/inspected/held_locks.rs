//! Which tasks hold the locks that other tasks wait for.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::{HeldLock, InspectedTask, ProcessId, Resource, TaskId};

use crate::evidence::inspected::{TaskGroup, words};
use crate::text::{FEW, units};

/// The locks of all tasks.
#[derive(Debug, Default)]
pub struct HeldLocks<'m> {
    holders: BTreeMap<Lock, Vec<(&'m InspectedTask, &'m HeldLock)>>,
    waiting: BTreeMap<Lock, BTreeSet<TaskId>>,
}

type Lock = (ProcessId, Resource);

impl<'m> HeldLocks<'m> {
    /// The locks of the tasks of these groups.
    pub fn of(groups: &[TaskGroup<'m>]) -> Self {
        let mut locks = HeldLocks::default();
        for member in groups.iter().flat_map(|group| &group.tasks) {
            locks.add(member.task);
        }
        locks
    }

    fn add(&mut self, task: &'m InspectedTask) {
        for lock in awaited_by(task) {
            self.waiting.entry(lock).or_default().insert(task.id);
        }
        for hold in task.holds.iter().filter(|hold| is_lock(hold.resource)) {
            let holders = self.holders.entry((task.process, hold.resource));
            holders.or_default().push((task, hold));
        }
    }

    /// Formats the holders of the lock for which all of these tasks wait: ``task 7 (guard `to`, :33)``.
    /// Empty if they wait for several resources, or if no holder is known.
    pub fn describe_holders(&self, tasks: &[&InspectedTask]) -> Vec<String> {
        let mut awaited = tasks.iter().flat_map(|task| awaited_by(task));
        let Some(lock) = awaited
            .next()
            .filter(|lock| awaited.all(|other| other == *lock))
        else {
            return Vec::new();
        };
        let holders = self.holders.get(&lock).map_or(&[][..], Vec::as_slice);
        let more = holders.len().saturating_sub(FEW);
        let more = (0 < more).then(|| format!("and {}", units::counted(more as u64, "other task")));
        let shown = holders.iter().take(FEW);
        shown
            .map(|(task, hold)| format!("task {} ({})", task.id.0, words::guard(hold)))
            .chain(more)
            .collect()
    }

    /// Formats what the tasks hold while others wait for it: `mutex 0x5578 (4 tasks wait for it)`. `None` if
    /// no task waits for what they hold.
    pub fn describe_awaited(&self, tasks: &[&InspectedTask]) -> Option<String> {
        let held: BTreeSet<Lock> = tasks.iter().flat_map(|task| held_by(task)).collect();
        let awaited = held.iter().filter_map(|lock| {
            let waiting = match self.waiting.get(lock)?.len() as u64 {
                1 => "1 task waits".to_owned(),
                count => format!("{} wait", units::counted(count, "task")),
            };
            let name = words::resource(lock.1, None)?;
            Some(format!("{name} ({waiting} for it)"))
        });
        let all: Vec<String> = awaited.take(FEW).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Whether another task waits for a lock that this task holds.
    pub fn has_awaited(&self, task: &InspectedTask) -> bool {
        held_by(task).any(|lock| self.waiting.contains_key(&lock))
    }
}

fn awaited_by(task: &InspectedTask) -> impl Iterator<Item = Lock> {
    let waits = task.waits.iter();
    waits.map(|wait| (task.process, wait.resource))
}

fn held_by(task: &InspectedTask) -> impl Iterator<Item = Lock> {
    let holds = task.holds.iter().filter(|hold| is_lock(hold.resource));
    holds.map(|hold| (task.process, hold.resource))
}

/// A receiver holds the room of a channel, but does not keep others from it.
fn is_lock(resource: Resource) -> bool {
    !matches!(resource, Resource::Room(_))
}

#[cfg(test)]
mod tests {
    use ctp_trace::record::TaskWait;

    use super::*;

    fn task(id: u32, held: Option<u64>, awaited: Option<u64>) -> InspectedTask {
        InspectedTask {
            id: TaskId(id),
            holds: Vec::from_iter(held.map(|at| HeldLock {
                resource: Resource::RwLock(at),
                line: id,
                ..HeldLock::default()
            })),
            waits: Vec::from_iter(awaited.map(|at| TaskWait {
                resource: Resource::RwLock(at),
                ..TaskWait::default()
            })),
            ..InspectedTask::default()
        }
    }

    fn locks(tasks: &[InspectedTask]) -> HeldLocks<'_> {
        let mut locks = HeldLocks::default();
        tasks.iter().for_each(|task| locks.add(task));
        locks
    }

    #[test]
    fn a_lock_is_named_once_however_many_hold_it() {
        let readers: Vec<InspectedTask> = (1..=9).map(|id| task(id, Some(0x10), None)).collect();
        let writers = [task(10, None, Some(0x10)), task(11, None, Some(0x10))];
        let all = [&readers[..], &writers].concat();
        let locks = locks(&all);
        let readers: Vec<&InspectedTask> = readers.iter().collect();
        let held = "rwlock 0x10 (2 tasks wait for it)".to_owned();
        assert_eq!(locks.describe_awaited(&readers), Some(held));
        assert!(locks.has_awaited(readers[0]));
        let holders = locks.describe_holders(&[&writers[0], &writers[1]]);
        assert_eq!(holders.first().unwrap(), "task 1 (a guard, :1)");
        assert!(
            holders.last().unwrap().ends_with("other tasks"),
            "{holders:?}"
        );
        assert!(holders.len() < readers.len());
    }

    #[test]
    fn several_awaited_locks_have_no_common_holder() {
        let all = [
            task(1, Some(0x10), None),
            task(2, None, Some(0x10)),
            task(3, None, Some(0x20)),
        ];
        let locks = locks(&all);
        assert_eq!(locks.describe_holders(&[&all[1], &all[2]]), [""; 0]);
        assert_eq!(locks.describe_awaited(&[&all[1]]), None);
    }
}
