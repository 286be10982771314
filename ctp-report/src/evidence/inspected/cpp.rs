//! The frames of C++20 coroutines by function.

use std::collections::BTreeMap;

use ctp_trace::record::{AwaitFrame, TaskKind, TaskState};

use crate::evidence::inspected::TaskGroup;
use crate::evidence::inspected::site::{label_of, name};
use crate::names::Label;

/// The frames of a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionFrames {
    /// The function.
    pub function: String,
    /// File and line of the function. The line is missing if it differs.
    pub label: Label,
    /// How many frames live and have not run to their end.
    pub live: usize,
    /// How many frames have run to their end and were not destroyed.
    pub finished: usize,
    /// How many frames may be freed, because the allocator does not say that they are in use.
    pub may_be_freed: usize,
}

/// The frames of all functions, those of the most frames first.
pub fn frames(groups: &[TaskGroup]) -> Vec<FunctionFrames> {
    let mut functions: BTreeMap<(&str, &str), FunctionFrames> = BTreeMap::new();
    let groups = groups.iter();
    for group in groups.filter(|group| group.first().kind == TaskKind::Cpp) {
        let stack = group.tasks[0].stack;
        for frame in stack.map_or(&[][..], |stack| &stack.frames) {
            let key = (&*frame.name, &*frame.file);
            let function = functions.entry(key).or_insert_with(|| of_frame(frame));
            // Frames of a function may be suspended at several lines.
            if function.label.line != Some(frame.line) {
                function.label.line = None;
            }
            function.add(group);
        }
    }
    let mut functions: Vec<_> = functions.into_values().collect();
    functions.sort_by_key(|frames| std::cmp::Reverse(frames.count()));
    functions
}

fn of_frame(frame: &AwaitFrame) -> FunctionFrames {
    FunctionFrames {
        function: name(&frame.name),
        label: label_of(frame),
        ..FunctionFrames::default()
    }
}

impl FunctionFrames {
    fn count(&self) -> usize {
        self.live + self.finished + self.may_be_freed
    }

    /// Counts the frame of the function in the stack that the tasks share.
    fn add(&mut self, group: &TaskGroup) {
        for member in &group.tasks {
            let task = member.task;
            match task.state {
                _ if task.may_be_freed => self.may_be_freed += 1,
                TaskState::Finished => self.finished += 1,
                _ => self.live += 1,
            }
        }
    }
}
