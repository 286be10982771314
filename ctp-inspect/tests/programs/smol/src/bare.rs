//! Tasks without an executor: the schedule function puts them into a queue.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex};

use async_task::{Runnable, Task};
use smol::channel::{Sender, bounded};

use crate::waits::{Forgetful, receiving};
use crate::{announce, awaits_at, count_spawned};

type Queue = Arc<Mutex<VecDeque<Runnable>>>;

/// What must live as long as the tasks.
pub type Bare = (Sender<u8>, Vec<Task<()>>, Queue);

/// Spawns tasks of all kinds, and polls them as far as they are meant to be.
pub fn spawn_all(count: usize) -> Bare {
    let queue = Queue::default();
    let (sender, receiver) = bounded(1);
    let (mut kept, mut cancelled) = (Vec::new(), Vec::new());
    for _ in 0..count {
        (0..3).for_each(|_| count_spawned());
        kept.push(spawn(&queue, receiving("bare-receiving", receiver.clone())));
        kept.push(spawn(&queue, forgetting()));
        cancelled.push(spawn(&queue, receiving("bare-cancelled", receiver.clone())));
    }
    run_all(&queue);
    // Each is in the queue again, which drops its future only when the task is run.
    drop(cancelled);
    for _ in 0..count {
        let (runnable, task) = async_task::spawn(async {}, schedule(&queue));
        // The address of the task is what the handle consists of.
        println!("task bare-queued {}", runnable.waker().data() as usize);
        runnable.schedule();
        kept.push(task);
    }
    (sender, kept, queue)
}

fn schedule(queue: &Queue) -> impl Fn(Runnable) + Send + Sync + 'static {
    let queue = queue.clone();
    move |runnable| queue.lock().expect("no panics").push_back(runnable)
}

fn spawn(queue: &Queue, future: impl Future<Output = ()> + Send + 'static) -> Task<()> {
    let (runnable, task) = async_task::spawn(future, schedule(queue));
    runnable.schedule();
    task
}

fn run_all(queue: &Queue) {
    loop {
        let runnable = queue.lock().expect("no panics").pop_front();
        match runnable {
            Some(runnable) => drop(runnable.run()),
            None => return,
        }
    }
}

async fn forgetting() {
    announce("bare-forgetting").await;
    awaits_at("bare.forgetting", line!() + 1);
    Forgetful.await
}
