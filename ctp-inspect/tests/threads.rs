//! Threads of tokio runtimes in this process: their roles, and the tasks that they poll.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::future::poll_fn;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

use ctp_inspect::threads::inspector::ThreadInspector;
use ctp_inspect::threads::polled::PollableTask;
use ctp_inspect::{CoreFile, Inspector, ProcessTarget, SearchPaths, Target as _, TraceIds};
use ctp_trace::record::{InspectedThread, ProcessId, Record, TaskId, ThreadRole};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// A thread that is about to block, and the task that runs on it.
#[derive(Clone, Copy, Debug)]
struct Place {
    name: &'static str,
    tid: u32,
    task: u64,
}

/// Where code reports that it is about to block, and what it blocks on until the end of a test.
#[derive(Clone)]
struct Blocker {
    places: mpsc::Sender<Place>,
    end: Arc<Mutex<()>>,
}

impl Blocker {
    fn block(&self, name: &'static str, task: u64) {
        let tid = tid();
        self.places.send(Place { name, tid, task }).unwrap();
        // Poisoned if the test fails.
        drop(self.end.lock());
    }

    /// Blocks in the middle of a poll.
    async fn block_task(self, name: &'static str) {
        let task = own_task().await;
        self.block(name, task);
    }
}

fn tid() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// The address of the running task: the data of its waker.
async fn own_task() -> u64 {
    poll_fn(|context| Poll::Ready(context.waker().data() as u64)).await
}

fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .build()
        .unwrap()
}

fn single_thread() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// The threads once all of these are blocked.
fn inspect(inspector: &mut ThreadInspector, places: &[Place]) -> Option<Vec<InspectedThread>> {
    let target = match ProcessTarget::open(std::process::id()) {
        Ok(target) => target,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let own = tid();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let threads = other_threads(&target, own);
        std::thread::sleep(Duration::from_millis(100));
        if threads == other_threads(&target, own) {
            break;
        }
        assert!(Instant::now() < deadline, "{threads:?}");
    }
    let mut tasks: Vec<_> = places
        .iter()
        .filter(|place| place.task != 0)
        .map(pollable)
        .collect();
    tasks.sort_by_key(|task| task.address);
    let inspected = inspector.inspect(&target, ProcessId(1), &tasks);
    assert_eq!(inspected.gaps, [""; 0]);
    let mut changed = inspected.changed;
    changed.retain(|thread| thread.tid != own);
    Some(changed)
}

fn other_threads(target: &ProcessTarget, own: u32) -> Vec<impl PartialEq + std::fmt::Debug> {
    let ids = target.thread_ids().into_iter().filter(|tid| *tid != own);
    ids.map(|tid| target.thread(tid)).collect()
}

/// Tasks have the numbers of their threads here.
fn pollable(place: &Place) -> PollableTask {
    PollableTask {
        id: TaskId(place.tid),
        address: place.task,
        // The lowest bit in the first word of a task of tokio.
        running: (place.task, 1),
    }
}

fn check_records(places: &[Place]) {
    let target = ProcessTarget::open(std::process::id()).unwrap();
    let mut inspector = Inspector::new(Box::new(target), ProcessId(1));
    let mut ids = TraceIds::default();
    let records = inspector.inspect(&mut ids).unwrap();
    check_polls(&records, places);
    let again = inspector.inspect(&mut ids).unwrap();
    let own = tid();
    let is_thread = |record: &&Record| match record {
        Record::InspectedThread(thread) => thread.tid != own,
        _ => false,
    };
    assert_eq!(again.iter().find(is_thread), None, "nothing has moved");
}

/// A core file says the same.
fn check_core(places: &[Place]) {
    let directory = tempfile::tempdir().unwrap();
    let Some(path) = support::core_by_gdb(directory.path(), std::process::id()) else {
        return;
    };
    let core = CoreFile::open(&path, None).unwrap();
    let mut inspector = Inspector::new(Box::new(core), ProcessId(1));
    let records = inspector.inspect(&mut TraceIds::default()).unwrap();
    check_polls(&records, places);
}

/// Whether the records of an inspection say of each task which thread polls it, and the other way round.
fn check_polls(records: &[Record], places: &[Place]) {
    for place in places.iter().filter(|place| place.task != 0) {
        let task = records.iter().find_map(|record| match record {
            Record::InspectedTask(task) if task.address == place.task => Some(task),
            _ => None,
        });
        let task = task.unwrap_or_else(|| panic!("{place:?} {records:#?}"));
        assert_eq!(task.polled_by, place.tid, "{place:?}");
        let polls = records.iter().any(|record| match record {
            Record::InspectedThread(thread) => {
                thread.tid == place.tid && thread.polls == Some(task.id)
            }
            _ => false,
        });
        assert!(polls, "{place:?} {records:#?}");
    }
}

/// Blocks a task, a task in `block_in_place`, and a thread of the blocking pool.
fn block_in(workers: &Runtime, blocker: &Blocker) {
    workers.spawn(blocker.clone().block_task("task"));
    let in_place = blocker.clone();
    workers.spawn(async move {
        let task = own_task().await;
        tokio::task::block_in_place(|| in_place.block("in place", task));
    });
    let pool = blocker.clone();
    workers.spawn_blocking(move || pool.block("pool", 0));
}

/// Blocks the only thread of a runtime: in the root future, a spawned task or a local task.
fn block_single_thread(name: &'static str, blocker: Blocker) {
    let runtime = single_thread();
    match name {
        "root" => runtime.block_on(async { blocker.block(name, 0) }),
        "spawned" => drop(runtime.block_on(runtime.spawn(blocker.block_task(name)))),
        _ => LocalSet::new().block_on(&runtime, async {
            drop(tokio::task::spawn_local(blocker.block_task(name)).await);
        }),
    }
}

fn check_roles(threads: &[InspectedThread], places: &[Place]) {
    for place in places {
        let thread = threads
            .iter()
            .find(|thread| thread.tid == place.tid)
            .unwrap();
        let role = match place.name {
            "in place" | "pool" => ThreadRole::Blocking,
            _ => ThreadRole::Polling,
        };
        assert_eq!(thread.role, role, "{place:?}");
        let task = (place.task != 0).then_some(TaskId(place.tid));
        assert_eq!(thread.polls, task, "{place:?}");
        assert!(thread.syscall.is_some(), "{place:?}");
        assert!(thread.is_whole, "{place:?} {:x?}", thread.addresses);
    }
}

#[test]
fn threads_have_roles_and_tasks() {
    const BLOCKERS: usize = 6;
    let (sender, receiver) = mpsc::channel();
    let blocker = Blocker {
        places: sender,
        end: Arc::new(Mutex::new(())),
    };
    let workers = multi_thread(3);
    // Dropped before the runtimes, which wait for their threads.
    let end = Arc::clone(&blocker.end);
    let end = end.lock().unwrap();
    block_in(&workers, &blocker);
    let singles = ["root", "spawned", "local"].map(|name| {
        let blocker = blocker.clone();
        std::thread::spawn(move || block_single_thread(name, blocker))
    });
    let places: Vec<_> = (0..BLOCKERS).map(|_| receiver.recv().unwrap()).collect();
    let mut inspector = ThreadInspector::new(SearchPaths::recorded());
    let Some(threads) = inspect(&mut inspector, &places) else {
        return;
    };
    check_roles(&threads, &places);
    let parked = threads
        .iter()
        .filter(|thread| thread.role == ThreadRole::Parked);
    // Of three workers, one is in a task; the one that another gave away has a thread of its own.
    assert_eq!(parked.count(), 2, "{threads:#?}");
    let again = inspect(&mut inspector, &places).unwrap();
    assert_eq!(again, [], "nothing has moved");
    check_records(&places);
    check_core(&places);
    drop(end);
    for single in singles {
        single.join().unwrap();
    }
}
