//! Tasks of async-task on each kind of executor. The program prints each task that lives: what it does, and the address
//! of its header. It also prints the lines at which functions await. Then it waits to be killed.
//!
//! The argument is how many tasks of most kinds there are, or `load`.

mod bare;
mod executors;
mod load;
mod waits;

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use smol::Task;

/// How many tasks have been spawned that will be polled.
static SPAWNED: AtomicUsize = AtomicUsize::new(0);
/// How many of them have been polled.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Counts a task that is spawned and will be polled.
fn count_spawned() {
    SPAWNED.fetch_add(1, Ordering::Relaxed);
}

/// Says that a function awaits at this line.
fn awaits_at(function: &str, line: u32) {
    println!("line {function} {line}");
}

/// Prints the address of the task that awaits this.
async fn announce(kind: &str) {
    poll_fn(|context| {
        println!("task {kind} {}", context.waker().data() as usize);
        STARTED.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(())
    })
    .await
}

/// Tasks on the global executor of smol. Every other handle is dropped.
#[derive(Default)]
struct Spawned {
    handles: Vec<Task<()>>,
    detached: usize,
}

impl Spawned {
    fn spawn(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        count_spawned();
        let task = smol::spawn(future);
        if self.handles.len() <= self.detached {
            self.handles.push(task);
        } else {
            task.detach();
            self.detached += 1;
        }
    }
}

/// Ends at once. The results of tasks with handles stay in memory.
async fn finished() {
    STARTED.fetch_add(1, Ordering::Relaxed);
}

fn main() {
    // One thread will be blocked.
    std::env::set_var("SMOL_THREADS", "2");
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("load") {
        load::run();
    }
    let count = argument.map_or(1, |count| count.parse().expect("a number"));
    let mut spawned = Spawned::default();
    for _ in 0..2 * count {
        spawned.spawn(finished());
    }
    let others = waits::spawn_all(count, &mut spawned);
    let bare = bare::spawn_all(count);
    executors::run_all(count);
    drop((spawned, others, bare));
}

/// Waits until all tasks wait, and says so.
fn finish() {
    while STARTED.load(Ordering::Relaxed) < SPAWNED.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(300));
    println!("ready");
}
