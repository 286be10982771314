//! [`Inspector`]: inspects a process again and again, and says what has changed.

mod changes;
mod holders;
mod identities;

use std::collections::HashMap;

use ctp_trace::record::{
    InspectedTask, Inspection, InspectionEnd, ProcessId, Record, TaskId, TaskKind, TaskState,
};

use crate::finder::{Finder, Found, FoundTask};
use crate::inspector::changes::Changes;
use crate::inspector::holders::Holders;
use crate::inspector::identities::Identities;
use crate::stack_ranges::StackRanges;
use crate::target::Target;
use crate::target::error::TargetError;
use crate::tokio::TokioFinder;

pub use identities::TraceIds;

/// Inspects a process, or a core file.
///
/// Each inspection yields records. Tasks that are as they were in the inspection before are left out.
pub struct Inspector {
    target: Box<dyn Target>,
    process: ProcessId,
    finders: Vec<Box<dyn Finder>>,
    stacks: StackRanges,
    identities: Identities,
    changes: Changes,
    inspections: u32,
}

impl Inspector {
    /// Prepares to inspect a process, which has this number in the trace.
    pub fn new(target: Box<dyn Target>, process: ProcessId) -> Self {
        Inspector {
            target,
            process,
            finders: vec![Box::new(TokioFinder::default())],
            stacks: StackRanges::default(),
            identities: Identities::default(),
            changes: Changes::default(),
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
        let mut found = Found::default();
        for finder in &mut self.finders {
            found.add(finder.find(&*self.target, &self.stacks));
        }
        // Whatever was found may be torn if the process has ended meanwhile.
        self.target.refresh()?;
        let tasks = self.records_of(&found.tasks, ids);
        let mut records = vec![Record::Inspection(Inspection {
            process: self.process,
            number: self.inspections,
            at,
        })];
        let ended = self.changes.replace(tasks, &mut records);
        self.identities.forget(&ended);
        records.push(Record::InspectionEnd(InspectionEnd {
            process: self.process,
            number: self.inspections,
            at: self.target.now(),
            ended,
            ended_threads: Vec::new(),
            runtimes: found.runtimes,
            gaps: found.gaps,
        }));
        Ok(records)
    }

    fn records_of(&mut self, tasks: &[FoundTask], ids: &mut TraceIds) -> Vec<InspectedTask> {
        let numbers: HashMap<u64, TaskId> = tasks
            .iter()
            .map(|task| (task.address, self.identities.number(task, ids)))
            .collect();
        let interests = self.target.epoll_interests();
        let holders = Holders::new(&*self.target, tasks, &numbers, &self.stacks, &interests);
        let records = tasks.iter().map(|task| InspectedTask {
            id: numbers[&task.address],
            process: self.process,
            kind: task.kind,
            address: task.address,
            runtime_id: task.runtime_id,
            spawned_at: task.spawned_at.clone(),
            state: task.state,
            wakers: (task.kind == TaskKind::Tokio).then_some(task.wakers),
            waker_holders: holders.of(task),
            polled_by: polled_by(task),
            ..InspectedTask::default()
        });
        records.collect()
    }
}

/// The thread that polls a task: only that one has the task's address in use.
fn polled_by(task: &FoundTask) -> u32 {
    match *task.stacks {
        [tid] if task.state == TaskState::Running => tid,
        _ => 0,
    }
}
