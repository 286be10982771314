//! A thread that copies what lanes hold while the first thread is busy or has no processor: it does
//! so little that a scheduler lets it run as soon as it wants to. Where even that may be too late,
//! the others stand aside (`rush.rs`).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::harvest::{Copies, Copying, Ground, MOST_LAID, locked};
use crate::memory::mapped::Mapped;
use crate::memory::shm::Memory;
use crate::output::backlog::Backlog;
use crate::output::rush::{Flood, Gauge};
use crate::session::promptness;

/// The near end of it. It ends when this is dropped.
#[derive(Debug)]
pub struct Drainer {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    backlog: Backlog,
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
    /// Starts it; it tells of what it copies there.
    ///
    /// # Errors
    /// Those of the kernel: there are too many threads.
    pub fn start(backlog: Backlog) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            backlog,
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
        let (mut pause, mut gauge) = (CALM, Gauge::new());
        while !self.is_over.load(Ordering::Relaxed) {
            if !self.is_awake.load(Ordering::Relaxed) {
                thread::park();
                continue;
            }
            self.backlog.rush().note_sleep(pause);
            thread::sleep(pause);
            let mut copying = Copying::default();
            locked(&self.jobs).retain(|job| job.copy(&mut copying));
            // Where a lane fills up that is more urgent.
            if copying.eighths == 0 {
                self.lay();
            }
            let flood = Flood {
                records: copying.records,
                waiting_bytes: self.backlog.bytes(),
                has_room: !self.backlog.is_half_full(),
            };
            gauge.look(Instant::now(), flood, self.backlog.rush());
            pause = match self.backlog.rush().is_on() || 0 < copying.eighths {
                true => BRISK,
                false => CALM,
            };
        }
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

    /// False once nobody else wants the memory.
    fn copy(&self, copying: &mut Copying) -> bool {
        let Some((memory, copies)) = self.parts() else {
            return false;
        };
        *copying += locked(&copies).copy(&memory.region(), false);
        true
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
