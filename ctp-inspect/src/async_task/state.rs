//! [`StateWord`]: the state and the number of references of a task of async-task. The layout of this word is the same
//! in all versions 4.x.

use ctp_trace::record::TaskState;

const SCHEDULED: u64 = 1;
/// The bit that is set while a thread polls the task.
pub const RUNNING: u64 = 1 << 1;
const COMPLETED: u64 = 1 << 2;
const CLOSED: u64 = 1 << 3;
const TASK: u64 = 1 << 4;
/// The bit that is set while another task has registered its waker, to await the end of the task.
pub const AWAITER: u64 = 1 << 5;
const REGISTERING: u64 = 1 << 6;
const NOTIFYING: u64 = 1 << 7;
const REFERENCE_SHIFT: u32 = 8;
/// A larger number is not a count of references but another value.
const MAX_REFERENCES: u64 = 1 << 24;

/// State and references of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateWord(pub u64);

impl StateWord {
    /// Whether this can be the word of a task that has not ended.
    ///
    /// A task is freed when it has neither references nor a handle. The word then stays in memory without both, so a
    /// freed task looks alive only after its memory was written again. A cancelled task exists until its executor runs
    /// it once more.
    pub fn is_alive(self) -> bool {
        let references = self.references();
        let has_owner = 0 < references || self.has(TASK);
        let has_future = !self.has(COMPLETED) && (!self.has(CLOSED) || self.is_active());
        has_owner
            && has_future
            && references < MAX_REFERENCES
            && (!self.is_active() || 0 < references)
    }

    /// Whether a thread polls the task.
    pub fn is_running(self) -> bool {
        self.has(RUNNING)
    }

    /// Whether another task has registered its waker; `None` while that changes.
    pub fn has_awaiter(self) -> Option<bool> {
        let is_changing = self.has(REGISTERING) || self.has(NOTIFYING);
        (!is_changing).then(|| self.has(AWAITER))
    }

    /// What the task is doing.
    pub fn state(self) -> TaskState {
        if self.is_running() {
            TaskState::Running
        } else if self.has(CLOSED) {
            TaskState::Cancelled
        } else if self.has(SCHEDULED) {
            TaskState::Notified
        } else {
            TaskState::Idle
        }
    }

    /// The number of wakers: all references except that of the thread that polls the task or the queue that holds it.
    /// The waker in an executor's list of active tasks is counted. The handle of a task is no reference.
    pub fn wakers(self) -> u32 {
        let others = u64::from(self.is_active());
        u32::try_from(self.references().saturating_sub(others)).unwrap_or(u32::MAX)
    }

    fn references(self) -> u64 {
        self.0 >> REFERENCE_SHIFT
    }

    /// Whether a thread polls the task, or a queue holds it.
    fn is_active(self) -> bool {
        self.is_running() || self.has(SCHEDULED)
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: u64 = 1 << REFERENCE_SHIFT;

    #[test]
    fn wakers_are_the_references_left() {
        let spawned = StateWord(REFERENCE | SCHEDULED | TASK);
        assert_eq!(
            (spawned.state(), spawned.wakers()),
            (TaskState::Notified, 0)
        );
        let idle = StateWord(2 * REFERENCE);
        assert_eq!((idle.state(), idle.wakers()), (TaskState::Idle, 2));
        let lost = StateWord(TASK | AWAITER);
        assert_eq!((lost.state(), lost.wakers()), (TaskState::Idle, 0));
        let woken_while_running = StateWord((2 * REFERENCE) | RUNNING | SCHEDULED);
        assert_eq!(woken_while_running.state(), TaskState::Running);
        assert_eq!(woken_while_running.wakers(), 1);
        let cancelled = StateWord(REFERENCE | SCHEDULED | CLOSED);
        assert_eq!(cancelled.state(), TaskState::Cancelled);
    }

    #[test]
    fn ended_and_freed_tasks_are_not_alive() {
        for word in [
            TASK,
            REFERENCE,
            REFERENCE | SCHEDULED | CLOSED,
            REFERENCE | RUNNING | CLOSED | TASK,
        ] {
            assert!(StateWord(word).is_alive(), "{word:#x}");
        }
        for word in [
            0,
            COMPLETED | CLOSED,
            REFERENCE | COMPLETED | TASK,
            REFERENCE | CLOSED,
            TASK | SCHEDULED,
            0x7f12_3456_7890,
            u64::MAX,
        ] {
            assert!(!StateWord(word).is_alive(), "{word:#x}");
        }
    }
}
