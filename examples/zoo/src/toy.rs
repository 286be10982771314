//! A scheduler of a page: worker threads and one queue.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use ctp_nostd as ctp;

/// The order of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First in, first out.
    FirstCome,
    /// Last in, first out: unfair, and fast.
    LastCome,
    /// First in, first out. A task counts as queued until its poll has ended, so that a task woken
    /// during its poll is not queued: a bug.
    FirstComeUnlessRunning,
}

/// Some threads that run tasks for ever.
pub struct Toy {
    order: Order,
    queue: Mutex<VecDeque<Arc<Task>>>,
    filled: Condvar,
    /// The owner of the tasks, so that their wakers may drop them.
    tasks: Mutex<Vec<Arc<Task>>>,
}

/// A task. It is in the queue if `queued`.
pub struct Task {
    toy: Arc<Toy>,
    queued: AtomicBool,
    trace: ctp::Waker,
    body: Mutex<Option<Body>>,
}

struct Body {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    trace: ctp::Task,
}

impl Toy {
    /// A scheduler with so many worker threads.
    pub fn new(order: Order, workers: usize) -> Arc<Self> {
        let toy = Arc::new(Toy {
            order,
            queue: Mutex::default(),
            filled: Condvar::new(),
            tasks: Mutex::default(),
        });
        for _ in 0..workers {
            let toy = Arc::clone(&toy);
            thread::spawn(move || {
                loop {
                    toy.next().run();
                }
            });
        }
        toy
    }

    /// Runs a future as a task of this name. The caller is the spawn site.
    #[track_caller]
    pub fn spawn(
        self: &Arc<Self>,
        name: &str,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Task> {
        let trace = ctp::Task::born_as(name, ctp::Kind::Future, Location::caller());
        let task = Arc::new(Task {
            toy: Arc::clone(self),
            queued: AtomicBool::new(true),
            trace: trace.waker(),
            body: Mutex::new(Some(Body {
                future: Box::pin(future),
                trace,
            })),
        });
        lock(&self.tasks).push(Arc::clone(&task));
        self.push(Arc::clone(&task));
        task
    }

    fn push(&self, task: Arc<Task>) {
        lock(&self.queue).push_back(task);
        self.filled.notify_one();
    }

    fn next(&self) -> Arc<Task> {
        let mut queue = lock(&self.queue);
        loop {
            let next = match self.order {
                Order::LastCome => queue.pop_back(),
                _ => queue.pop_front(),
            };
            match next {
                Some(task) => return task,
                None => {
                    queue = self
                        .filled
                        .wait(queue)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }
}

impl Task {
    /// Drops the task without running it.
    pub fn cancel(&self) {
        let body = lock(&self.body).take();
        drop(body);
    }

    fn run(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut body = lock(&self.body);
        if self.toy.order != Order::FirstComeUnlessRunning {
            self.queued.store(false, Ordering::SeqCst);
        }
        if body.as_mut().is_some_and(|body| body.poll(&waker)) {
            *body = None;
        }
        drop(body);
        if self.toy.order == Order::FirstComeUnlessRunning {
            self.queued.store(false, Ordering::SeqCst);
        }
    }
}

impl Body {
    /// Whether the task is done.
    fn poll(&mut self, waker: &Waker) -> bool {
        self.trace.run();
        let poll = self.future.as_mut().poll(&mut Context::from_waker(waker));
        if poll == Poll::Pending {
            self.trace.suspend_announced();
        }
        poll == Poll::Ready(())
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.trace.wake(); // before the task is queued
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.toy.push(Arc::clone(self));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
