//! A queue of messages between two tasks.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ctp_nostd as ctp;

/// The sending end. Dropping it signals that no more messages will come.
#[derive(Debug)]
pub struct Sender<T>(Shared<T>);

/// The end that they come out of.
#[derive(Debug)]
pub struct Receiver<T>(Shared<T>);

type Shared<T> = Arc<Mutex<Inner<T>>>;

#[derive(Debug)]
struct Inner<T> {
    messages: VecDeque<T>,
    is_over: bool,
    waiting: Option<Waker>,
}

/// The future of [`Receiver::recv`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Recv<'a, T> {
    receiver: &'a Receiver<T>,
    wait: ctp::Wait,
}

/// Both ends of a new channel.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Mutex::new(Inner {
        messages: VecDeque::new(),
        is_over: false,
        waiting: None,
    }));
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Puts a message in.
    pub fn send(&self, message: T) {
        let mut inner = lock(&self.0);
        inner.messages.push_back(message);
        wake(inner);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut inner = lock(&self.0);
        inner.is_over = true;
        wake(inner);
    }
}

impl<T> Receiver<T> {
    /// The next message; nothing if no more will come.
    #[track_caller]
    pub fn recv(&self) -> Recv<'_, T> {
        Recv {
            receiver: self,
            wait: ctp::Wait::channel(Arc::as_ptr(&self.0).addr()),
        }
    }
}

impl<T> Future for Recv<'_, T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut inner = lock(&self.receiver.0);
        match inner.messages.pop_front() {
            Some(message) => Poll::Ready(Some(message)),
            None if inner.is_over => Poll::Ready(None),
            None => {
                inner.waiting = Some(context.waker().clone());
                ctp::waits_for_in(self.wait, context);
                Poll::Pending
            }
        }
    }
}

fn wake<T>(mut inner: MutexGuard<'_, Inner<T>>) {
    let waiting = inner.waiting.take();
    drop(inner);
    if let Some(waiting) = waiting {
        waiting.wake();
    }
}

fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, Inner<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
