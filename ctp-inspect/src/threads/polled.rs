//! [`task`]: which task a thread polls.

use ctp_trace::record::TaskId;

use crate::stacks::StackFrame;
use crate::target::Target;

/// A task that a thread may poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollableTask {
    /// Number of the task in the trace.
    pub id: TaskId,
    /// Address of the task's header.
    pub address: u64,
    /// The address of a word, and the bit in it that is set while a thread polls the task.
    pub running: (u64, u64),
}

/// The maximum number of words on the stack that are searched.
const MAX_WORDS: u64 = 1 << 16;

/// The task that the functions of these frames poll: the only running task with the address of its header in their
/// registers or on their stack. `None` if there are several, or none. `tasks` are sorted by address.
pub fn task(target: &dyn Target, frames: &[StackFrame], tasks: &[PollableTask]) -> Option<TaskId> {
    let mut found: Vec<TaskId> = Vec::new();
    for word in words(target, frames) {
        let Ok(at) = tasks.binary_search_by_key(&word, |task| task.address) else {
            continue;
        };
        let (state, flag) = tasks[at].running;
        let is_running = target.word(state).is_some_and(|state| state & flag != 0);
        if is_running && !found.contains(&tasks[at].id) {
            found.push(tasks[at].id);
        }
    }
    match found[..] {
        [task] => Some(task),
        _ => None,
    }
}

/// The words in registers and on the stacks of functions.
fn words(target: &dyn Target, frames: &[StackFrame]) -> Vec<u64> {
    let mut words: Vec<u64> = frames.iter().flat_map(StackFrame::saved).collect();
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return words;
    };
    let bytes = last.end.saturating_sub(first.start);
    let count = (bytes / 8).min(MAX_WORDS);
    let mut on_stack = vec![0; usize::try_from(count).unwrap_or_default()];
    if target.words(first.start, &mut on_stack) {
        words.append(&mut on_stack);
    }
    words
}
