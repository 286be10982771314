//! Reads the futures of all tasks of an inspection, and numbers their await stacks.

use std::collections::{BTreeMap, HashMap};

use ctp_trace::record::{AwaitFrame, AwaitStack, AwaitStackId, TaskId};
use symbolize::SearchPaths;

use crate::awaits::{AwaitReader, RootFuture, TaskAwaits, TaskFuture};
use crate::finder::FoundTask;
use crate::inspector::identities::TraceIds;
use crate::inspector::own_wakers;
use crate::stack_ranges::StackRanges;
use crate::stacks::StackFrame;
use crate::target::Target;

/// The reader of futures, and the numbers of the await stacks that are in the trace.
pub struct Futures {
    awaits: AwaitReader,
    stacks: HashMap<Vec<AwaitFrame>, AwaitStackId>,
}

/// By the address of the task: the number of the await stack, and what else the future says. The frames are left out,
/// because the await stack has them.
pub type FutureByTask = HashMap<u64, (AwaitStackId, TaskAwaits)>;

/// What the futures of an inspection say.
#[derive(Default)]
pub struct FoundFutures {
    /// What the future of each task says.
    pub tasks: FutureByTask,
    /// The await stacks that are new in this trace.
    pub stacks: Vec<AwaitStack>,
    /// Sentences about what could not be read.
    pub gaps: Vec<String>,
}

impl Futures {
    /// Reads debug info from files in `search_paths`.
    pub fn new(search_paths: SearchPaths) -> Self {
        Self {
            awaits: AwaitReader::new(search_paths),
            stacks: HashMap::new(),
        }
    }

    /// Reads the futures of all tasks.
    pub fn read(
        &mut self,
        (target, stack_ranges): (&dyn Target, &StackRanges),
        tasks: &[FoundTask],
        numbers: &HashMap<u64, TaskId>,
        ids: &mut TraceIds,
    ) -> FoundFutures {
        self.awaits.begin(target);
        let mut found = FoundFutures::default();
        let mut gaps = BTreeMap::new();
        for task in tasks {
            let Some(future) = TaskFuture::of(task) else {
                continue;
            };
            let mut awaits = self
                .awaits
                .read_task(future, target, &|header| numbers.get(&header).copied());
            for gap in std::mem::take(&mut awaits.gaps) {
                *gaps.entry(gap).or_insert(0) += 1;
            }
            let frames = std::mem::take(&mut awaits.frames);
            let stack = self.number(frames, ids, &mut found.stacks);
            found.tasks.insert(task.address, (stack, awaits));
        }
        for task in tasks.iter().filter(|task| !task.frames.is_empty()) {
            let stack = self.number(task.frames.clone(), ids, &mut found.stacks);
            let awaits = TaskAwaits {
                name: task.name.clone(),
                ..TaskAwaits::default()
            };
            found.tasks.insert(task.address, (stack, awaits));
        }
        own_wakers::mark_own_wakers(target, stack_ranges, tasks, &mut found.tasks);
        found.gaps = self.awaits.gaps();
        found.gaps.extend(gaps.into_iter().map(counted));
        found
    }

    /// Reads the future that a thread polls in `block_on`, with the number of its await stack.
    pub fn read_block_on(
        &mut self,
        target: &dyn Target,
        frames: &[StackFrame],
        numbers: &HashMap<u64, TaskId>,
        (ids, new): (&mut TraceIds, &mut Vec<AwaitStack>),
    ) -> Option<(RootFuture, AwaitStackId)> {
        let mut root = self
            .awaits
            .read_block_on(frames, target, &|header| numbers.get(&header).copied())?;
        let frames = std::mem::take(&mut root.awaits.frames);
        let stack = self.number(frames, ids, new);
        Some((root, stack))
    }

    /// The reader of futures.
    pub fn awaits(&self) -> &AwaitReader {
        &self.awaits
    }

    /// The number of an await stack: a new number if the stack is new, and 0 for an empty stack.
    pub fn number(
        &mut self,
        frames: Vec<AwaitFrame>,
        ids: &mut TraceIds,
        new: &mut Vec<AwaitStack>,
    ) -> AwaitStackId {
        if frames.is_empty() {
            return AwaitStackId(0);
        }
        if let Some(number) = self.stacks.get(&frames) {
            return *number;
        }
        let id = ids.next_stack();
        self.stacks.insert(frames.clone(), id);
        new.push(AwaitStack { id, frames });
        id
    }
}

fn counted((gap, count): (String, u32)) -> String {
    let tasks = if count == 1 { "task" } else { "tasks" };
    format!("{count} {tasks}: {gap}")
}
