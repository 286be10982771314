//! What differs from the inspection before.

use std::collections::BTreeMap;

use ctp_trace::record::{InspectedTask, Record, TaskId};

/// The tasks as they were recorded last.
#[derive(Clone, Debug, Default)]
pub struct RecordedTasks {
    tasks: BTreeMap<TaskId, InspectedTask>,
}

impl RecordedTasks {
    /// Appends the tasks that are new or changed to `records`. Returns the tasks that exist no longer,
    /// sorted.
    pub fn replace(&mut self, tasks: Vec<InspectedTask>, records: &mut Vec<Record>) -> Vec<TaskId> {
        let mut earlier = std::mem::take(&mut self.tasks);
        for task in tasks {
            if earlier.remove(&task.id).as_ref() != Some(&task) {
                records.push(Record::InspectedTask(Box::new(task.clone())));
            }
            self.tasks.insert(task.id, task);
        }
        earlier.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::TaskState;

    #[test]
    fn only_changes_are_recorded() {
        let task = |id, state| InspectedTask {
            id: TaskId(id),
            state,
            ..InspectedTask::default()
        };
        let (idle, running) = (TaskState::Idle, TaskState::Running);
        let mut changes = RecordedTasks::default();
        let mut records = Vec::new();
        let first = vec![task(1, idle), task(2, idle), task(3, idle)];
        assert_eq!(changes.replace(first, &mut records), []);
        assert_eq!(records.len(), 3);
        records.clear();
        let second = vec![task(1, idle), task(3, running)];
        assert_eq!(changes.replace(second, &mut records), [TaskId(2)]);
        assert_eq!(records, [Record::InspectedTask(Box::new(task(3, running)))]);
    }
}
