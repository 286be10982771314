//! Which tasks hold the locks that other tasks wait for.

use std::collections::BTreeMap;

use ctp_trace::record::{HeldLock, InspectedTask, ProcessId, Resource};

use crate::evidence::inspected::{TaskGroup, words};
use crate::text::units;

/// The locks of all tasks.
#[derive(Debug, Default)]
pub struct HeldLocks<'m> {
    holders: BTreeMap<Lock, Vec<(&'m InspectedTask, &'m HeldLock)>>,
    /// How many tasks wait for each lock.
    waiting: BTreeMap<Lock, u64>,
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
        for wait in &task.waits {
            *self
                .waiting
                .entry((task.process, wait.resource))
                .or_default() += 1;
        }
        for hold in task.holds.iter().filter(|hold| is_lock(hold.resource)) {
            let holders = self.holders.entry((task.process, hold.resource));
            holders.or_default().push((task, hold));
        }
    }

    /// Formats the holders of the lock for which all of these tasks wait: ``task 7 (guard `to`, :33)``.
    /// Empty if they wait for several resources, or if no holder is known.
    pub fn holders(&self, tasks: &[&InspectedTask]) -> Vec<String> {
        let mut awaited = tasks.iter().flat_map(|task| {
            let waits = task.waits.iter();
            waits.map(|wait| (task.process, wait.resource))
        });
        let Some(lock) = awaited
            .next()
            .filter(|lock| awaited.all(|other| other == *lock))
        else {
            return Vec::new();
        };
        let holders = self.holders.get(&lock).into_iter().flatten();
        holders
            .map(|(task, hold)| format!("task {} ({})", task.id.0, words::guard(hold)))
            .collect()
    }

    /// Formats what the tasks hold while others wait for it: `mutex 0x5578, for which 4 tasks wait`.
    pub fn awaited(&self, tasks: &[&InspectedTask]) -> Vec<String> {
        let held = tasks.iter().flat_map(|task| {
            let holds = task.holds.iter();
            holds.map(|hold| (task.process, hold.resource))
        });
        let held = held.filter(|(_, resource)| is_lock(*resource));
        held.filter_map(|lock| {
            let waiting = match *self.waiting.get(&lock)? {
                1 => "1 task waits".to_owned(),
                count => format!("{} wait", units::counted(count, "task")),
            };
            Some(format!(
                "{}, for which {waiting}",
                words::resource(lock.1, None)?
            ))
        })
        .collect()
    }
}

/// A receiver holds the room of a channel, but does not keep others from it.
fn is_lock(resource: Resource) -> bool {
    !matches!(resource, Resource::Room(_))
}
