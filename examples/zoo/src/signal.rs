//! A signal that a task awaits, and that another task or thread raises.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use ctp_nostd as ctp;

/// A signal between tasks: each raise lets a waiting task continue once.
#[derive(Clone, Debug, Default)]
pub struct Signal(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    raised: bool,
    waiting: Option<Waker>,
}

/// The future of [`Signal::raised`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Raised {
    signal: Signal,
    wait: ctp::Wait,
}

impl Signal {
    /// Not raised yet.
    pub fn new() -> Self {
        Signal::default()
    }

    /// Waits until the signal is raised.
    #[track_caller]
    pub fn raised(&self) -> Raised {
        Raised {
            signal: self.clone(),
            wait: ctp::Wait::user(self.number()),
        }
    }

    /// The same, where that is meant to be long.
    #[track_caller]
    pub fn raised_if_ever(&self) -> Raised {
        Raised {
            signal: self.clone(),
            wait: ctp::Wait::user(self.number()).idle(),
        }
    }

    fn number(&self) -> u64 {
        Arc::as_ptr(&self.0).addr() as u64
    }

    /// Forgets the waiting task.
    pub fn mislay(&self) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.waiting = None;
    }

    /// Lets the waiting task continue.
    pub fn raise(&self) {
        let waiting = {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            inner.raised = true;
            inner.waiting.take()
        };
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

impl Future for Raised {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.signal.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut inner.raised) {
            return Poll::Ready(());
        }
        inner.waiting = Some(context.waker().clone());
        ctp::waits_for_in(self.wait, context);
        Poll::Pending
    }
}
