//! A lock for tasks that reports its holder.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{self, Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ctp_nostd as ctp;

/// A lock with one holder at a time. What it protects is up to its users.
#[derive(Clone, Debug, Default)]
pub struct Mutex(Arc<sync::Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    is_held: bool,
    waiting: VecDeque<Waker>,
}

/// The future of [`Mutex::lock`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Locking {
    mutex: Mutex,
    wait: ctp::Wait,
    place: &'static Location<'static>,
}

/// Holds a lock until dropped.
#[derive(Debug)]
pub struct Held(Mutex);

impl Mutex {
    /// Free.
    pub fn new() -> Self {
        Mutex::default()
    }

    /// Takes the lock, once it is free.
    #[track_caller]
    pub fn lock(&self) -> Locking {
        Locking {
            mutex: self.clone(),
            wait: ctp::Wait::lock(self.address()),
            place: Location::caller(),
        }
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for Locking {
    type Output = Held;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Held> {
        let mut queue = self.mutex.queue();
        if queue.is_held {
            queue.waiting.push_back(context.waker().clone());
            ctp::waits_for_in(self.wait, context);
            return Poll::Pending;
        }
        queue.is_held = true;
        ctp::acquired_at(self.mutex.address(), self.place);
        Poll::Ready(Held(self.mutex.clone()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        ctp::released(self.0.address());
        queue.is_held = false;
        let next = queue.waiting.pop_front();
        drop(queue);
        if let Some(next) = next {
            next.wake();
        }
    }
}
