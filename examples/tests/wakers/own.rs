//! An executor: a queue and two threads.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::Task;

#[derive(Default)]
struct Queue {
    ready: Mutex<Vec<Arc<Slot>>>,
    wake_flag: Condvar,
}

struct Slot {
    /// Empty once the task has ended.
    task: Mutex<Option<Task>>,
    queue: &'static Queue,
    /// Of these, how many are queued and not taken yet.
    queued: AtomicU32,
}

static WOKEN: AtomicU32 = AtomicU32::new(0);

/// The number of wakes.
pub fn woken() -> u32 {
    WOKEN.load(SeqCst)
}

impl Wake for Slot {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        WOKEN.fetch_add(1, SeqCst);
        if self.queued.fetch_add(1, SeqCst) == 0 {
            self.queue.push(self.clone());
        }
    }
}

/// A waker of its own for each poll.
struct Once(Arc<Slot>);

impl Wake for Once {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl Queue {
    fn push(&self, slot: Arc<Slot>) {
        self.ready.lock().expect("whole").push(slot);
        self.wake_flag.notify_one();
    }

    fn pop(&self) -> Arc<Slot> {
        let ready = self.ready.lock().expect("whole");
        let mut ready = self
            .wake_flag
            .wait_while(ready, |ready| ready.is_empty())
            .expect("whole");
        ready.remove(0)
    }
}

fn work(queue: &'static Queue, is_fickle: bool) {
    loop {
        let slot = queue.pop();
        slot.queued.store(0, SeqCst);
        let waker = if is_fickle {
            Waker::from(Arc::new(Once(slot.clone())))
        } else {
            Waker::from(slot.clone())
        };
        let mut task = slot.task.lock().expect("whole");
        if task
            .as_mut()
            .map(|pin| pin.as_mut().poll(&mut Context::from_waker(&waker)))
            .is_some_and(|polled| polled.is_ready())
        {
            *task = None;
        }
    }
}

/// A task that wants to run needs no waker.
pub fn poll_all(mut tasks: Vec<Task>) {
    thread::spawn(move || {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
            thread::sleep(Duration::from_micros(100));
        }
    });
}

pub fn run(tasks: Vec<Task>, is_fickle: bool) {
    let queue: &'static Queue = Box::leak(Box::default());
    for task in tasks {
        let task = Mutex::new(Some(task));
        queue.push(Arc::new(Slot {
            task,
            queue,
            queued: AtomicU32::new(1),
        }));
    }
    for _ in 0..2 {
        thread::spawn(move || work(queue, is_fickle));
    }
}
