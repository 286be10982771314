//! What is remembered of the task in a station.
//!
//! ```text
//!                       task_new           task_exec_begin
//!   FREE, ENDED, TAKEN ────────> WAITING <───────────────> RUNNING
//!                                   │      task_exec_end      │ task_end
//!                                   └───────────> ENDED <─────┘
//! ```
//! The station of a task that has ended is taken for the next task in two steps: RESERVED, until it has
//! the number of that task, and then TAKEN. An interrupt handler may spawn other tasks at any time, so it
//! may find the old number in a reserved station. Then it removes the number, and uses another station.
//!
//! A task's executor calls its hooks one after the other. There is one exception: a task frees its
//! storage before `task_end`, and then an interrupt handler, or another core, may spawn the next task
//! there. The new task has the same number, so the previous task's `task_end` and `task_exec_end`
//! seem to be about the new task. They are recognized by their executor, which cannot poll the new
//! task before it has called both.

use crate::handle::coroutine::Progress;
use crate::sync::{AtomicU32, Ordering};

const FREE: u32 = 0;
const WAITING: u32 = 1;
const RUNNING: u32 = 2;
const ENDED: u32 = 3;
/// Has the number of a new task that has not moved in yet.
const TAKEN: u32 = 4;
/// Taken for a new task, and may still have the number of the previous task.
const RESERVED: u32 = 5;

/// The task in a station.
#[derive(Debug)]
pub(super) struct Task {
    /// The task's number; 0: none.
    number: AtomicU32,
    state: AtomicU32,
    /// The executor of the current poll.
    executor: AtomicU32,
    /// The executor that has yet to report the end of the previous task with this number; 0: none.
    outdated: AtomicU32,
    /// The id of the task's name.
    name: AtomicU32,
    /// The words of the task's [`Progress`].
    seen: AtomicU32,
    previous: AtomicU32,
}

impl Task {
    /// No task.
    pub const fn new() -> Self {
        Task {
            number: AtomicU32::new(0),
            state: AtomicU32::new(FREE),
            executor: AtomicU32::new(0),
            outdated: AtomicU32::new(0),
            name: AtomicU32::new(0),
            seen: AtomicU32::new(0),
            previous: AtomicU32::new(0),
        }
    }

    /// Whether this is the latest task with this number.
    pub fn has(&self, number: u32) -> bool {
        self.number.load(Ordering::Relaxed) == number
    }

    /// Gives the station to a task that is about to be spawned.
    pub fn give_to(&self, number: u32) {
        self.name.store(0, Ordering::Relaxed);
        self.outdated.store(0, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }

    /// Whether a task has been spawned and has not ended.
    pub fn is_alive(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), WAITING | RUNNING)
    }

    /// Whether the task is being polled.
    pub fn is_running(&self) -> bool {
        self.state.load(Ordering::Acquire) == RUNNING
    }

    /// Keeps the station, which had this number, for the next task with this number. Returns false if the
    /// station is taken for a task with another number.
    pub fn keep_or_take(&self, number: u32) -> bool {
        match self.state.load(Ordering::Acquire) {
            ENDED => self.take_ended_for(number),
            RESERVED => {
                // This call has interrupted another, which sets the number of its task later.
                let (old, none) = (number, 0);
                let _ =
                    self.number
                        .compare_exchange(old, none, Ordering::Relaxed, Ordering::Relaxed);
                false
            }
            _ => self.has(number),
        }
    }

    /// Takes the station of a task that has ended, for the next task with this number. Returns false if no
    /// task has ended here.
    pub fn take_ended_for(&self, number: u32) -> bool {
        let reserved =
            self.state
                .compare_exchange(ENDED, RESERVED, Ordering::AcqRel, Ordering::Relaxed);
        if reserved.is_err() {
            return false;
        }
        if !self.has(number) {
            self.give_to(number);
        }
        self.state.store(TAKEN, Ordering::Release);
        true
    }

    /// The task is spawned.
    pub fn begin(&self, progress: Progress) {
        self.enter(WAITING, progress);
    }

    /// A poll of the task begins.
    pub fn run_on(&self, executor: u32, progress: Progress) {
        self.executor.store(executor, Ordering::Relaxed);
        self.enter(RUNNING, progress);
    }

    /// A poll of the task ends.
    pub fn suspend(&self, progress: Progress) {
        self.enter(WAITING, progress);
    }

    /// The task has ended.
    pub fn end(&self) {
        self.state.store(ENDED, Ordering::Release);
    }

    fn enter(&self, state: u32, progress: Progress) {
        self.seen.store(progress.seen, Ordering::Relaxed);
        self.previous.store(progress.previous, Ordering::Relaxed);
        self.state.store(state, Ordering::Release);
    }

    /// The progress of a living task.
    pub fn progress(&self) -> Progress {
        Progress {
            seen: self.seen.load(Ordering::Relaxed),
            previous: self.previous.load(Ordering::Relaxed),
        }
    }

    /// The next task with this number begins. If the previous task is being polled, its executor has
    /// yet to report its end.
    pub fn expect_outdated_hooks(&self) {
        if self.is_running() {
            let executor = self.executor.load(Ordering::Relaxed);
            self.outdated.store(executor, Ordering::Relaxed);
        }
    }

    /// Whether this executor's hook is about the previous task with this number.
    pub fn is_outdated(&self, executor: u32) -> bool {
        executor != 0 && self.outdated.load(Ordering::Relaxed) == executor
    }

    /// Like [`is_outdated`](Self::is_outdated), for the last such hook.
    pub fn take_outdated(&self, executor: u32) -> bool {
        let is_outdated = self.is_outdated(executor);
        if is_outdated {
            self.outdated.store(0, Ordering::Relaxed);
        }
        is_outdated
    }

    /// The id of the task's name, 0 if it has none.
    pub fn name(&self) -> u32 {
        self.name.load(Ordering::Relaxed)
    }

    /// Sets the name of this task and of later tasks with its number.
    pub fn set_name(&self, id: u32) {
        self.name.store(id, Ordering::Relaxed);
    }
}
