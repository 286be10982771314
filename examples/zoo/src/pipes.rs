//! Pipes and connections, and a thread that watches those for which tasks wait.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use ctp_nostd as ctp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::pipe::{PipeFlags, pipe_with};

/// What happens to a pipe without writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    /// Its reader is woken, and sees the end.
    Wake,
    /// It is closed, and its reader is forgotten: a bug.
    Forget,
    /// The same, and the closing is not reported.
    ForgetUnrecorded,
    /// It is closed, and its reader is woken after this time.
    WakeLater(Duration),
}

/// Where other numbers begin.
const OTHER_NUMBERS: RawFd = 200;

/// The end of a pipe, or of a connection, that tasks read from.
#[derive(Debug)]
pub struct Pipe {
    number: RawFd,
    /// Empty once the pipe is closed.
    fd: Mutex<Option<OwnedFd>>,
    pipes: Arc<Pipes>,
}

/// The waiter for each pipe: a single task, so that of two waiters the first is forgotten.
#[derive(Debug, Default)]
pub struct Pipes {
    waiting: Mutex<HashMap<RawFd, Entry>>,
}

type Entry = (Arc<Pipe>, Waker, Hangup);

/// The future of [`Pipe::read`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Read {
    pipe: Arc<Pipe>,
    hangup: Hangup,
    wait: ctp::Wait,
}

impl Pipes {
    /// None yet. Its thread watches them for ever.
    pub fn new() -> Arc<Self> {
        let pipes = Arc::new(Pipes::default());
        let watched = Arc::clone(&pipes);
        thread::spawn(move || {
            loop {
                watched.look();
            }
        });
        pipes
    }

    /// A new pipe: the end for tasks that read, and the writing end.
    ///
    /// # Errors
    /// If the system has none left.
    pub fn pipe(self: &Arc<Self>) -> io::Result<(Arc<Pipe>, OwnedFd)> {
        let (read, write) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
        Ok((self.reader_of(read), write))
    }

    /// The end of a connection, from which tasks read like from a pipe.
    ///
    /// # Errors
    /// If the system does not let it be read without waiting.
    pub fn connection(self: &Arc<Self>, stream: impl Into<OwnedFd>) -> io::Result<Arc<Pipe>> {
        let stream = stream.into();
        ioctl_fionbio(&stream, true)?;
        Ok(self.reader_of(stream))
    }

    fn reader_of(self: &Arc<Self>, fd: OwnedFd) -> Arc<Pipe> {
        Arc::new(Pipe {
            number: fd.as_raw_fd(),
            fd: Mutex::new(Some(fd)),
            pipes: Arc::clone(self),
        })
    }

    /// Forgets the waiter of a pipe: a bug, like mixing up two numbers.
    pub fn lose(&self, pipe: &Pipe) {
        lock(&self.waiting).remove(&pipe.number);
    }

    /// Waits a little, and serves what is ready.
    fn look(&self) {
        thread::sleep(Duration::from_millis(2));
        let all: Vec<Arc<Pipe>> = lock(&self.waiting)
            .values()
            .map(|entry| Arc::clone(&entry.0))
            .collect();
        for pipe in all {
            let Some(flags) = pipe.flags() else { continue };
            if flags.intersects(PollFlags::IN) {
                self.wake(pipe.number);
            } else if flags.intersects(PollFlags::HUP) {
                self.on_hangup(&pipe);
            }
        }
    }

    fn wake(&self, number: RawFd) {
        let waiting = lock(&self.waiting).remove(&number);
        if let Some((_, waker, _)) = waiting {
            waker.wake();
        }
    }

    fn on_hangup(&self, pipe: &Pipe) {
        let waiting = lock(&self.waiting).remove(&pipe.number);
        match waiting {
            Some((_, waker, Hangup::Wake)) => waker.wake(),
            Some((_, _, Hangup::Forget)) => pipe.close(),
            Some((_, _, Hangup::ForgetUnrecorded)) => drop(lock(&pipe.fd).take()),
            Some((_, waker, Hangup::WakeLater(delay))) => {
                pipe.close();
                thread::spawn(move || {
                    thread::sleep(delay);
                    waker.wake();
                });
            }
            None => {}
        }
    }
}

impl Pipe {
    /// Waits for bytes, at most one buffer of them. None come once the pipe is closed, or without
    /// writers; `hangup` is the reaction to that.
    #[track_caller]
    pub fn read(self: &Arc<Self>, hangup: Hangup) -> Read {
        Read {
            pipe: Arc::clone(self),
            hangup,
            wait: ctp::Wait::readable(self.number),
        }
    }

    fn flags(&self) -> Option<PollFlags> {
        let fd = lock(&self.fd);
        let mut looked = [PollFd::new(fd.as_ref()?, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut looked, Some(&at_once)).ok()?;
        Some(looked[0].revents())
    }

    /// Moves the pipe to another number, while its readers use the old number, which is closed
    /// without a report.
    ///
    /// # Errors
    /// If the system has none left.
    pub fn renumber(&self) -> io::Result<()> {
        let mut fd = lock(&self.fd);
        if let Some(open) = fd.as_mut() {
            *open = rustix::io::fcntl_dupfd_cloexec(&*open, OTHER_NUMBERS)?;
        }
        Ok(())
    }

    /// The number that its readers use.
    pub fn number(&self) -> RawFd {
        self.number
    }

    fn close(&self) {
        let fd = lock(&self.fd).take();
        if fd.is_some() {
            ctp::closed(self.number); // while the number is not yet another's
        }
        drop(fd);
    }
}

impl Future for Read {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        let fd = lock(&self.pipe.fd);
        let Some(open) = fd.as_ref() else {
            return Poll::Ready(0);
        };
        match rustix::io::read(open.as_fd(), &mut [0u8; 64]) {
            Err(Errno::AGAIN) => {
                let entry = (Arc::clone(&self.pipe), context.waker().clone(), self.hangup);
                lock(&self.pipe.pipes.waiting).insert(self.pipe.number, entry);
                ctp::waits_for_in(self.wait, context);
                Poll::Pending
            }
            done => Poll::Ready(done.unwrap_or(0)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
