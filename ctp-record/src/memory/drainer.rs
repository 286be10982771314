//! The drainer: a thread that copies records out of lanes while the main thread is busy or not scheduled.
//! The drainer needs so little processor time that the kernel's scheduler runs it as soon as it is ready.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::harvest::{Copies, MAX_PREFAULT_RECORDS, PrefaultRange, locked};
use crate::memory::mapped::Mapped;
use crate::memory::shm::Memory;
use crate::session::scheduling_priority;

/// The handle of the thread, which ends when the handle is dropped.
#[derive(Debug)]
pub struct Drainer {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    jobs: Mutex<Vec<Job>>,
    is_awake: AtomicBool,
    is_over: AtomicBool,
}

/// A memory to drain, for as long as it is in use.
#[derive(Debug)]
struct Job {
    memory: Weak<Memory>,
    copies: Weak<Mutex<Copies>>,
    mapped: Mapped,
}

/// Pause between two rounds while lanes stay nearly empty.
const CALM_PAUSE: Duration = Duration::from_millis(1);
/// Pause while lanes fill up: a lane of the default size lasts 2 ms at 20 ns an event.
const SHORT_PAUSE: Duration = Duration::from_micros(300);

/// Processor time that a round may take while lanes fill up.
const ROUND_NS: u64 = 100_000;

impl Drainer {
    /// Starts the thread.
    ///
    /// # Errors
    /// Those of the kernel: there are too many threads.
    pub fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            is_awake: AtomicBool::new(true),
            ..Shared::default()
        });
        let worker = shared.clone();
        let handle = thread::Builder::new()
            .name("drainer".into())
            .spawn(move || worker.work())?;
        let thread = handle.thread().clone();
        Ok(Drainer { shared, thread })
    }

    /// Adds a memory to drain.
    pub fn add(&self, memory: &Arc<Memory>, copies: &Arc<Mutex<Copies>>) {
        locked(&self.shared.jobs).push(Job {
            memory: Arc::downgrade(memory),
            copies: Arc::downgrade(copies),
            mapped: Mapped::default(),
        });
    }

    /// Stops copying until [`resume`](Self::resume).
    pub fn pause(&self) {
        self.shared.is_awake.store(false, Ordering::Relaxed);
    }

    /// Continues to copy records.
    pub fn resume(&self) {
        self.shared.is_awake.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

impl Drop for Drainer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

impl Shared {
    fn work(&self) {
        scheduling_priority::ask_for_little(ROUND_NS);
        let mut pause = CALM_PAUSE;
        while !self.is_over.load(Ordering::Relaxed) {
            if !self.is_awake.load(Ordering::Relaxed) {
                thread::park();
                continue;
            }
            thread::sleep(pause);
            // A lane that fills up is more urgent than pages that are not needed yet.
            if self.copy() == 0 {
                self.prefault();
                pause = CALM_PAUSE;
            } else {
                pause = SHORT_PAUSE;
            }
        }
    }

    /// Copies what the lanes of all memories hold. Returns how full the fullest lane was, in eighths.
    fn copy(&self) -> u64 {
        let mut jobs = locked(&self.jobs);
        jobs.retain(Job::is_in_use);
        jobs.iter().filter_map(Job::copy).max().unwrap_or(0)
    }

    /// Prefaults pages that threads will reach soon. The limit is for all memories together.
    fn prefault(&self) {
        let mut left = MAX_PREFAULT_RECORDS;
        let mut jobs = locked(&self.jobs);
        jobs.iter_mut().for_each(|job| job.prefault(&mut left));
    }
}

impl Job {
    fn is_in_use(&self) -> bool {
        0 < self.memory.strong_count() && 0 < self.copies.strong_count()
    }

    /// The memory and its copies, or `None` once they have no other user.
    fn parts(&self) -> Option<(Arc<Memory>, Arc<Mutex<Copies>>)> {
        self.memory.upgrade().zip(self.copies.upgrade())
    }

    /// Returns how full the fullest lane was, in eighths.
    fn copy(&self) -> Option<u64> {
        let (memory, copies) = self.parts()?;
        Some(locked(&copies).copy(&memory.region(), false))
    }

    /// Prefaults records, at most `left`, from which it subtracts what it has done.
    fn prefault(&mut self, left: &mut u64) {
        let Some((memory, copies)) = self.parts() else {
            return;
        };
        let ranges = locked(&copies).prefault_ranges(&memory.region(), left);
        for PrefaultRange {
            records,
            is_unclaimed,
        } in ranges
        {
            // If the kernel cannot prefault, the program's threads wait for their pages themselves.
            let _ = memory.prefault(records);
            if is_unclaimed {
                self.mapped.touch(&memory, records);
            }
        }
    }
}
