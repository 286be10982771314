//! A descriptor, and the tasks that wait for it.
//!
//! The system call and the registration of a waiter happen under a lock, which the reactor also
//! takes before it wakes. An edge after `EAGAIN` therefore finds the waiter, and an earlier edge
//! makes the call succeed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ctp_nostd as ctp;
use rustix::io::{Errno, retry_on_intr};

use crate::lock::Lock;
use crate::runtime::Shared;
use crate::waking;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

pub(crate) struct Source {
    /// The descriptor's number, for display. The descriptor may be closed, and the number reused.
    number: RawFd,
    inner: Lock<Inner>,
}

/// The only owner of the descriptor. Closing takes the descriptor out, so that no other code can
/// close or use a later descriptor of the same number.
struct Inner {
    fd: Option<OwnedFd>,
    readers: Vec<Waker>,
    writers: Vec<Waker>,
}

impl Source {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Source {
            number: fd.as_raw_fd(),
            inner: Lock::new(Inner {
                fd: Some(fd),
                readers: Vec::new(),
                writers: Vec::new(),
            }),
        }
    }

    /// Tries `call`. If it would block, its task is woken when another try makes sense.
    pub(crate) fn poll_io<T>(
        &self,
        direction: Direction,
        wait: ctp::Wait,
        context: &mut Context<'_>,
        mut call: impl FnMut(BorrowedFd<'_>) -> rustix::io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let mut inner = self.inner.lock();
        let Some(fd) = &inner.fd else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        match retry_on_intr(|| call(fd.as_fd())) {
            Err(Errno::WOULDBLOCK) => {
                inner.remember(direction, context.waker());
                ctp::waits_for_in(wait, context);
                Poll::Pending
            }
            done => Poll::Ready(done.map_err(io::Error::from)),
        }
    }

    /// Borrows the descriptor, unless closed.
    pub(crate) fn with_fd<T>(&self, look: impl FnOnce(BorrowedFd<'_>) -> T) -> Option<T> {
        self.inner.lock().fd.as_ref().map(|fd| look(fd.as_fd()))
    }

    /// The caller is where its tasks are said to be woken.
    #[track_caller]
    pub(crate) fn wake(&self, direction: Direction) {
        let waiting = std::mem::take(self.inner.lock().waiting(direction));
        for waker in waiting {
            waking::wake(waker);
        }
    }

    /// Closes the descriptor, and nothing else. The caller is the reported place of the closing.
    #[track_caller]
    pub(crate) fn close_fd(&self) {
        let fd = self.inner.lock().fd.take();
        self.notify_closed(&fd);
        drop(fd);
    }

    /// Reported before the number can belong to another descriptor.
    #[track_caller]
    fn notify_closed(&self, fd: &Option<OwnedFd>) {
        if fd.is_some() {
            ctp::closed(self.number);
        }
    }

    /// Closes the descriptor and forgets its waiters: no code is left to wake them.
    pub(crate) fn abandon(&self) {
        let mut inner = self.inner.lock();
        let forgotten = (
            inner.fd.take(),
            std::mem::take(&mut inner.readers),
            std::mem::take(&mut inner.writers),
        );
        drop(inner);
        self.notify_closed(&forgotten.0);
        drop(forgotten); // a waker may own a task, which may own other sources
    }
}

impl Inner {
    fn waiting(&mut self, direction: Direction) -> &mut Vec<Waker> {
        match direction {
            Direction::Read => &mut self.readers,
            Direction::Write => &mut self.writers,
        }
    }

    /// Several tasks may wait for the same: all of them are kept.
    fn remember(&mut self, direction: Direction, waker: &Waker) {
        let waiting = self.waiting(direction);
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}

/// A source watched by a reactor. Dropping it closes the descriptor.
pub(crate) struct Watched {
    shared: Arc<Shared>,
    key: u64,
    source: Arc<Source>,
}

impl Watched {
    /// Gives a non-blocking descriptor to the reactor of the runtime that runs here.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let shared = Shared::current();
        let source = Arc::new(Source::new(fd));
        let key = shared.reactor.watch(&source)?;
        Ok(Watched {
            shared,
            key,
            source,
        })
    }

    pub(crate) fn number(&self) -> RawFd {
        self.source.number
    }
}

impl std::ops::Deref for Watched {
    type Target = Source;

    fn deref(&self) -> &Source {
        &self.source
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.shared.reactor.forget(self.key);
        self.source.abandon();
    }
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "fd {}", self.number())
    }
}
