//! A thread that copies what lanes hold while the first thread is busy or has no processor: it does
//! so little that a scheduler lets it run as soon as it wants to.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::harvest::{Copies, Ground, MOST_LAID, locked};
use crate::memory::mapped::Mapped;
use crate::memory::shm::Memory;
use crate::session::promptness;

/// The near end of it. It ends when this is dropped.
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

/// A memory, for as long as it is wanted.
#[derive(Debug)]
struct Job {
    memory: Weak<Memory>,
    copies: Weak<Mutex<Copies>>,
    mapped: Mapped,
}

/// How often it looks while lanes stay nearly empty.
const CALM: Duration = Duration::from_millis(1);
/// How often while they fill: the default size lasts 2 ms at 20 ns an event.
const BRISK: Duration = Duration::from_micros(300);

/// What one look may take while lanes fill.
const LITTLE_NS: u64 = 100_000;

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
        let its = shared.clone();
        let handle = thread::Builder::new()
            .name("drainer".into())
            .spawn(move || its.work())?;
        let thread = handle.thread().clone();
        Ok(Drainer { shared, thread })
    }

    /// One more memory.
    pub fn add(&self, memory: &Arc<Memory>, copies: &Arc<Mutex<Copies>>) {
        locked(&self.shared.jobs).push(Job {
            memory: Arc::downgrade(memory),
            copies: Arc::downgrade(copies),
            mapped: Mapped::default(),
        });
    }

    /// Until [`go_on`](Self::go_on).
    pub fn rest(&self) {
        self.shared.is_awake.store(false, Ordering::Relaxed);
    }

    pub fn go_on(&self) {
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
        promptness::ask_for_little(LITTLE_NS);
        let mut pause = CALM;
        while !self.is_over.load(Ordering::Relaxed) {
            if !self.is_awake.load(Ordering::Relaxed) {
                thread::park();
                continue;
            }
            thread::sleep(pause);
            // A lane that fills up is more urgent than pages that are not needed yet.
            if self.copy() == 0 {
                self.lay();
                pause = CALM;
            } else {
                pause = BRISK;
            }
        }
    }

    /// Copies what the lanes of all memories hold. Returns how full the fullest lane was, in eighths.
    fn copy(&self) -> u64 {
        let mut jobs = locked(&self.jobs);
        jobs.retain(|job| job.parts().is_some());
        jobs.iter().filter_map(Job::copy).max().unwrap_or(0)
    }

    /// Makes pages that threads will come to, of all memories together a few.
    fn lay(&self) {
        let mut left = MOST_LAID;
        let mut jobs = locked(&self.jobs);
        jobs.iter_mut().for_each(|job| job.lay(&mut left));
    }
}

impl Job {
    /// Nothing once nobody else wants the memory.
    fn parts(&self) -> Option<(Arc<Memory>, Arc<Mutex<Copies>>)> {
        self.memory.upgrade().zip(self.copies.upgrade())
    }

    /// Returns how full the fullest lane was, in eighths.
    fn copy(&self) -> Option<u64> {
        let (memory, copies) = self.parts()?;
        Some(locked(&copies).copy(&memory.region(), false))
    }

    /// Lays at most so many places, of which it takes those that it has laid.
    fn lay(&mut self, left: &mut u64) {
        let Some((memory, copies)) = self.parts() else {
            return;
        };
        let groundwork = locked(&copies).groundwork(&memory.region(), left);
        for Ground { places, is_new } in groundwork {
            // Where the kernel cannot, programs wait for their pages themselves.
            let _ = memory.lay(places);
            if is_new {
                self.mapped.touch(&memory, places);
            }
        }
    }
}
