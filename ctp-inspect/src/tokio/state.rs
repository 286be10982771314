//! [`StateWord`]: the state and the references of a task of tokio. The word has had the same layout from
//! tokio 1.21 to 1.54.

use ctp_trace::record::TaskState;

/// The bit that is set while a thread polls the task.
pub const RUNNING: u64 = 1;
const COMPLETE: u64 = 1 << 1;
const NOTIFIED: u64 = 1 << 2;
const JOIN_INTEREST: u64 = 1 << 3;
const CANCELLED: u64 = 1 << 5;
const REFERENCE_SHIFT: u32 = 6;
/// A larger number is not a count of references but another value.
const MAX_REFERENCES: u64 = 1 << 24;

/// State and references of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateWord(pub u64);

impl StateWord {
    /// How many references to the task there are.
    pub fn references(self) -> u64 {
        self.0 >> REFERENCE_SHIFT
    }

    /// Whether this can be the word of a task that has not ended.
    pub fn is_alive(self) -> bool {
        let references = self.references();
        !self.has(COMPLETE) && 0 < references && references < MAX_REFERENCES
    }

    /// Whether a thread polls the task.
    pub fn is_running(self) -> bool {
        self.has(RUNNING)
    }

    /// Whether a thread polls the task, or a queue has it.
    pub fn is_active(self) -> bool {
        self.is_running() || self.has(NOTIFIED)
    }

    /// What the task is doing.
    pub fn state(self) -> TaskState {
        if self.is_running() {
            TaskState::Running
        } else if self.has(NOTIFIED) {
            TaskState::Notified
        } else if self.has(CANCELLED) {
            TaskState::Cancelled
        } else {
            TaskState::Idle
        }
    }

    /// An upper limit of the number of wakers: all references but those of the list of tasks, the `JoinHandle`, and the
    /// thread or queue that has the task. Abort handles count as wakers.
    pub fn wakers(self) -> u32 {
        let others = 1 + u64::from(self.has(JOIN_INTEREST)) + u64::from(self.is_active());
        u32::try_from(self.references().saturating_sub(others)).unwrap_or(u32::MAX)
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakers_are_the_references_left() {
        // Spawned: references of the list, the queue and the handle.
        let spawned = StateWord((3 * 64) | JOIN_INTEREST | NOTIFIED);
        assert_eq!(
            (spawned.state(), spawned.wakers()),
            (TaskState::Notified, 0)
        );
        let idle = StateWord((3 * 64) | JOIN_INTEREST);
        assert_eq!((idle.state(), idle.wakers()), (TaskState::Idle, 1));
        let detached = StateWord(64);
        assert_eq!((detached.state(), detached.wakers()), (TaskState::Idle, 0));
        let woken_while_running = StateWord((2 * 64) | RUNNING | NOTIFIED);
        assert_eq!(woken_while_running.state(), TaskState::Running);
        assert_eq!(woken_while_running.wakers(), 0);
        assert_eq!(StateWord(64 | CANCELLED).state(), TaskState::Cancelled);
    }

    #[test]
    fn ended_and_freed_tasks_are_not_alive() {
        assert!(StateWord(64).is_alive());
        for word in [
            0,
            2,
            64 | COMPLETE,
            0x5_5555_5557,
            0x7f12_3456_7890,
            u64::MAX,
        ] {
            assert!(!StateWord(word).is_alive(), "{word:#x}");
        }
    }
}
