//! Waiting for another task's end.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ctp_nostd as ctp;

use crate::lock::Lock;
use crate::waking;

/// A spawned task's end: `handle.await` waits for it. Dropping the handle lets the task continue.
#[derive(Debug)]
pub struct JoinHandle<T> {
    outcome: Arc<Lock<Outcome<T>>>,
    task: u64,
}

/// The future of a [`JoinHandle`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Join<T> {
    outcome: Arc<Lock<Outcome<T>>>,
    wait: ctp::Wait,
}

/// The task panicked, or was dropped when the runtime stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinError;

impl std::fmt::Display for JoinError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the task panicked or was cancelled")
    }
}

impl std::error::Error for JoinError {}

/// The task's side. Dropping it unfinished signals that there will be no result.
pub(crate) struct End<T>(Arc<Lock<Outcome<T>>>);

#[derive(Debug)]
enum Outcome<T> {
    Running(Option<Waker>),
    Finished(T),
    Lost,
}

pub(crate) fn pair<T>(task: u64) -> (End<T>, JoinHandle<T>) {
    let outcome = Arc::new(Lock::new(Outcome::Running(None)));
    (End(Arc::clone(&outcome)), JoinHandle { outcome, task })
}

impl<T> End<T> {
    pub(crate) fn finish(self, value: T) {
        self.settle(Outcome::Finished(value));
    }

    fn settle(&self, end: Outcome<T>) {
        let before = std::mem::replace(&mut *self.0.lock(), end);
        if let Outcome::Running(Some(waker)) = before {
            waking::wake(waker);
        }
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        let unfinished = matches!(&*self.0.lock(), Outcome::Running(_));
        if unfinished {
            self.settle(Outcome::Lost);
        }
    }
}

impl<T> IntoFuture for JoinHandle<T> {
    type Output = Result<T, JoinError>;
    type IntoFuture = Join<T>;

    /// The caller is the line with the `.await`.
    #[track_caller]
    fn into_future(self) -> Join<T> {
        Join {
            outcome: self.outcome,
            wait: ctp::Wait::coroutine(self.task),
        }
    }
}

impl<T> Future for Join<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut outcome = self.outcome.lock();
        match std::mem::replace(&mut *outcome, Outcome::Lost) {
            Outcome::Finished(value) => Poll::Ready(Ok(value)),
            Outcome::Lost => Poll::Ready(Err(JoinError)),
            Outcome::Running(before) => {
                *outcome = Outcome::Running(Some(context.waker().clone()));
                drop(outcome);
                drop(before); // its drop may end another task
                ctp::waits_for_in(self.wait, context);
                Poll::Pending
            }
        }
    }
}
