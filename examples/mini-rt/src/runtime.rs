//! The runtime: its worker threads, and what they share.

use std::any::type_name;
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::thread;

use crate::block_on;
use crate::join::JoinHandle;
use crate::queue::{Queue, Ring};
use crate::reactor::{Events, Hangup, Reactor};
use crate::task::{self, Task};
use crate::timer::Timers;
use crate::worker;

/// Worker threads that run tasks. Dropping the runtime stops them and drops the tasks.
pub struct Runtime {
    shared: Arc<Shared>,
    workers: Vec<thread::JoinHandle<()>>,
}

/// How a runtime is to be.
#[derive(Clone, Copy, Debug)]
pub struct Builder {
    workers: usize,
    hangup: Hangup,
}

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) reactor: Reactor,
    pub(crate) timers: Timers,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            workers: 2,
            hangup: Hangup::default(),
        }
    }
}

impl Builder {
    /// Two workers, and no bug.
    pub fn new() -> Self {
        Builder::default()
    }

    /// The number of worker threads, at least one.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// What happens to a connection that its peer resets.
    pub fn hangup(mut self, hangup: Hangup) -> Self {
        self.hangup = hangup;
        self
    }

    /// Starts the worker threads.
    pub fn build(self) -> io::Result<Runtime> {
        let shared = Arc::new(Shared {
            queue: Queue::default(),
            reactor: Reactor::new(self.hangup)?,
            timers: Timers::default(),
        });
        let mut runtime = Runtime {
            shared,
            workers: Vec::new(),
        };
        for number in 0..self.workers {
            let shared = Arc::clone(&runtime.shared);
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            let worker = thread.spawn(move || worker::work(shared))?;
            runtime.workers.push(worker);
        }
        Ok(runtime)
    }
}

impl Runtime {
    /// A runtime with this many workers.
    pub fn new(workers: usize) -> io::Result<Self> {
        Builder::new().workers(workers).build()
    }

    /// Runs a future on this thread until it is ready; tasks that it spawns run on the workers.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _inside = Shared::enter(&self.shared);
        block_on::block_on(Location::caller(), future)
    }

    /// As the function [`spawn`], from outside.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::spawn(&self.shared, type_name::<F>(), Location::caller(), future)
    }
}

/// Runs a future as a task, named after its type. The caller is the spawn site.
///
/// # Panics
///
/// Outside a runtime.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_named(type_name::<F>(), future)
}

/// As [`spawn`], under a name of its own.
///
/// # Panics
///
/// Outside of a runtime.
#[track_caller]
pub fn spawn_named<F>(name: &str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    task::spawn(&Shared::current(), name, Location::caller(), future)
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let unrun = self.shared.queue.close();
        self.shared.reactor.ring();
        for worker in self.workers.drain(..) {
            // A worker catches the panics of its tasks, and does not panic itself.
            let _ = worker.join();
        }
        drop(unrun);
        self.shared.timers.clear();
        self.shared.reactor.clear();
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Runtime with {} workers", self.workers.len())
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

/// While this value lives, the thread is inside a runtime.
pub(crate) struct Inside {
    before: Option<Arc<Shared>>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

impl Shared {
    pub(crate) fn enter(this: &Arc<Self>) -> Inside {
        Inside {
            before: CURRENT.replace(Some(Arc::clone(this))),
        }
    }

    #[track_caller]
    pub(crate) fn current() -> Arc<Self> {
        match CURRENT.with_borrow(Clone::clone) {
            Some(shared) => shared,
            None => panic!("this works only inside of a runtime"),
        }
    }

    pub(crate) fn schedule(&self, task: Arc<Task>) {
        if self.queue.push(task) == Ring(true) {
            self.reactor.ring();
        }
    }

    /// Has a sleeping worker look at the timers again.
    pub(crate) fn ring_sleepers(&self) {
        if self.queue.has_sleepers() {
            self.reactor.ring();
        }
    }

    /// Queues all tasks that can continue because of these events or timers.
    pub(crate) fn wake_ready(&self, events: &Events) {
        self.reactor.dispatch(events);
        self.timers.fire();
    }
}
