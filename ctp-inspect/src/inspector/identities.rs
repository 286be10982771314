//! Numbers of tasks that stay the same over inspections.

use std::collections::HashMap;

use ctp_trace::record::{AwaitStackId, TaskId};

use crate::finder::FoundTask;

/// The numbers that a trace has given so far. A trace may have inspections of several processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceIds {
    tasks: u32,
    stacks: u32,
}

impl TraceIds {
    /// The next number of a task.
    pub fn next_task(&mut self) -> TaskId {
        self.tasks += 1;
        TaskId(self.tasks)
    }

    /// The next number of an await stack.
    pub fn next_stack(&mut self) -> AwaitStackId {
        self.stacks += 1;
        AwaitStackId(self.stacks)
    }
}

/// The numbers of the tasks of a process.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    numbers: HashMap<TaskIdentity, TaskId>,
}

/// What identifies a task in several inspections. Memory is reused, so the address alone is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TaskIdentity {
    address: u64,
    runtime_id: u64,
    of_type: u64,
}

impl Identities {
    /// The number of a task. A new task gets a new number.
    pub fn number(&mut self, task: &FoundTask, ids: &mut TraceIds) -> TaskId {
        let identity = TaskIdentity {
            address: task.address,
            runtime_id: task.runtime_id,
            of_type: task.layout.identity,
        };
        *self
            .numbers
            .entry(identity)
            .or_insert_with(|| ids.next_task())
    }

    /// Forgets tasks that have ended. `ended` is sorted.
    pub fn forget(&mut self, ended: &[TaskId]) {
        self.numbers
            .retain(|_, number| ended.binary_search(number).is_err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_keep_their_numbers_until_they_end() {
        let task = |address, runtime_id| FoundTask {
            address,
            runtime_id,
            ..FoundTask::default()
        };
        let (mut identities, mut ids) = (Identities::default(), TraceIds::default());
        let mut number = |task| identities.number(&task, &mut ids).0;
        assert_eq!([number(task(8, 1)), number(task(16, 2))], [1, 2]);
        assert_eq!([number(task(16, 3)), number(task(8, 1))], [3, 1]);
        identities.forget(&[TaskId(1)]);
        assert_eq!(identities.number(&task(8, 1), &mut ids), TaskId(4));
    }
}
