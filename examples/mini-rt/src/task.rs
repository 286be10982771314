//! A task: a future, its wake state and its trace.
//!
//! ```text
//!            wake              worker             poll: Ready, panic
//!   IDLE ───────────> QUEUED ─────────> RUNNING ─────────────────────> DONE
//!    ^                  ^               │  │ wake
//!    │   poll: Pending  │               │  v
//!    └──────────────────┼───────────────┘ NOTIFIED
//!                       └───────────────────┘  poll: Pending
//! ```
//! A task is in the queue exactly when QUEUED; a wake in any other state than IDLE queues
//! nothing, because a poll that begins after it is certain to follow.

use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use ctp_nostd as ctp;

use crate::join::{self, JoinHandle};
use crate::lock::Lock;
use crate::runtime::Shared;
use crate::waking;

pub(crate) struct Task {
    state: State,
    trace: ctp::Waker,
    shared: Arc<Shared>,
    /// Empty once the task is done. Only the worker that set RUNNING locks it.
    body: Lock<Option<Body>>,
}

/// What is dropped when a task ends: first the future, then its trace, which reports the death.
struct Body {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    trace: ctp::Task,
}

/// Makes a task of a future and queues it.
pub(crate) fn spawn<F>(
    shared: &Arc<Shared>,
    name: &str,
    place: &'static Location<'static>,
    future: F,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let trace = ctp::Task::born_as(name, ctp::Kind::Future, place);
    let (end, handle) = join::pair(trace.id());
    let task = Task {
        state: State::queued(),
        trace: trace.waker(),
        shared: Arc::clone(shared),
        body: Lock::new(Some(Body {
            future: Box::pin(async move { end.finish(future.await) }),
            trace,
        })),
    };
    shared.schedule(Arc::new(task));
    handle
}

impl Task {
    /// Polls the task once; queues it again if it was woken during the poll.
    pub(crate) fn run(self: Arc<Self>) {
        self.state.begin();
        let waker = Waker::from(Arc::clone(&self));
        let pending = match &mut *self.body.lock() {
            Some(body) => body.poll(&waker),
            None => false,
        };
        if !pending {
            self.state.end();
            self.discard();
        } else if self.state.rest() == Rested::Woken {
            self.shared.schedule(Arc::clone(&self));
        }
    }

    /// Drops the future. A destructor that panics ends nothing else than this task.
    fn discard(&self) {
        let body = self.body.lock().take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(body)));
    }
}

impl Drop for Task {
    /// The task cannot be woken any more, or the runtime has stopped.
    fn drop(&mut self) {
        self.discard();
    }
}

impl Body {
    /// Whether the task has to be polled again.
    fn poll(&mut self, waker: &Waker) -> bool {
        let mut context = Context::from_waker(waker);
        self.trace.run();
        let pending = matches!(
            catch_unwind(AssertUnwindSafe(|| self.future.as_mut().poll(&mut context))),
            Ok(Poll::Pending)
        );
        if pending {
            self.trace.suspend_announced();
        }
        pending
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.trace.wake_at(waking::place()); // before it is queued
        if self.state.wake() == Woken::MustQueue {
            self.shared.schedule(Arc::clone(self));
        }
    }
}

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
const NOTIFIED: u8 = 3;
const DONE: u8 = 4;

struct State(AtomicU8);

#[derive(PartialEq, Eq)]
enum Woken {
    MustQueue,
    Already,
}

#[derive(PartialEq, Eq)]
enum Rested {
    Idle,
    Woken,
}

impl State {
    const fn queued() -> Self {
        State(AtomicU8::new(QUEUED))
    }

    /// Writes also where the state stays the same: what the waker did before is then visible to
    /// the poll that follows.
    fn wake(&self) -> Woken {
        let step = |state| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(NOTIFIED),
            other => Some(other),
        };
        match self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, step)
        {
            Ok(IDLE) => Woken::MustQueue,
            _ => Woken::Already,
        }
    }

    fn begin(&self) {
        self.0.swap(RUNNING, Ordering::AcqRel);
    }

    fn end(&self) {
        self.0.swap(DONE, Ordering::AcqRel);
    }

    fn rest(&self) -> Rested {
        match self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                Some(if state == NOTIFIED { QUEUED } else { IDLE })
            }) {
            Ok(NOTIFIED) => Rested::Woken,
            _ => Rested::Idle,
        }
    }
}
