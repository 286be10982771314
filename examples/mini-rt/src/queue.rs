//! The run queue, and the count of workers that sleep while it is empty.
//!
//! Workers sleep in epoll, not here. A push reports whether a sleeper must be rung. A sleeper
//! counts itself before its last check of the queue, under the same lock, so no push can come in
//! between.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::lock::Lock;
use crate::task::Task;

/// A sleeping worker is needed: ring the reactor's bell.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ring(pub bool);

/// What a worker does next.
pub(crate) enum Next {
    Run(Arc<Task>, Ring),
    /// The worker counts as asleep until it calls [`Queue::awake`].
    Sleep,
    Stop,
}

#[derive(Default)]
pub(crate) struct Queue {
    inner: Lock<Inner>,
}

#[derive(Default)]
struct Inner {
    tasks: VecDeque<Arc<Task>>,
    sleepers: usize,
    /// A worker is on its way to [`Queue::next`], so there is no need to ring another.
    searching: bool,
    closed: bool,
}

impl Inner {
    fn ring_if_needed(&mut self) -> Ring {
        let needed = self.sleepers > 0 && !self.searching && !self.tasks.is_empty();
        self.searching |= needed;
        Ring(needed)
    }
}

impl Queue {
    /// Takes a task, unless the runtime has stopped: then the task is dropped.
    pub(crate) fn push(&self, task: Arc<Task>) -> Ring {
        let refused = {
            let mut inner = self.inner.lock();
            if inner.closed {
                Some(task)
            } else {
                inner.tasks.push_back(task);
                return inner.ring_if_needed();
            }
        };
        drop(refused);
        Ring(false)
    }

    pub(crate) fn next(&self) -> Next {
        let mut inner = self.inner.lock();
        inner.searching = false;
        if inner.closed {
            return Next::Stop;
        }
        match inner.tasks.pop_front() {
            Some(task) => Next::Run(task, inner.ring_if_needed()),
            None => {
                inner.sleepers += 1;
                Next::Sleep
            }
        }
    }

    /// A worker no longer sleeps and will soon ask what is [`next`](Queue::next).
    pub(crate) fn awake(&self) {
        let mut inner = self.inner.lock();
        inner.sleepers -= 1;
        inner.searching = true;
    }

    pub(crate) fn has_sleepers(&self) -> bool {
        self.inner.lock().sleepers > 0
    }

    /// Ends all workers, and hands out what was not run.
    pub(crate) fn close(&self) -> VecDeque<Arc<Task>> {
        let mut inner = self.inner.lock();
        inner.closed = true;
        std::mem::take(&mut inner.tasks)
    }
}
