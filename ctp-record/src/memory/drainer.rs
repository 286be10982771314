//! The drainer: a thread that copies records out of lanes while the main thread is busy or not scheduled.
//! The drainer needs so little processor time that the kernel's scheduler runs it as soon as it is ready.
//!
//! While the recorder sleeps, the drainer waits for the doorbell too. So it can copy a lane that fills up before the
//! main thread is scheduled.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::harvest::{Copies, MAX_PREFAULT_RECORDS, PrefaultRange, locked};
use crate::memory::mapped::Mapped;
use crate::memory::shm::Memory;
use crate::session::scheduling_priority;

/// The handle of the thread, which ends when the handle is dropped.
#[derive(Debug)]
pub struct Drainer {
    shared: Arc<Shared>,
    /// When prefaulting was last requested.
    requested: Cell<Instant>,
}

#[derive(Debug)]
struct Shared {
    jobs: Mutex<Jobs>,
    is_awake: AtomicBool,
    is_over: AtomicBool,
    /// Pages are to be prefaulted once, during a rest.
    must_prefault: AtomicBool,
    /// Becomes readable to end a rest.
    wake_up: OwnedFd,
    /// Becomes readable when a program rings; not set before there is a doorbell.
    doorbell: OnceLock<Arc<OwnedFd>>,
}

/// All memories to drain.
#[derive(Debug)]
struct Jobs {
    list: Vec<Job>,
    /// When pages were last prefaulted.
    prefaulted: Instant,
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
/// Pause while lanes fill up: a lane of 16 MiB, the usual default, lasts 10 ms at 20 ns an event.
const SHORT_PAUSE: Duration = Duration::from_micros(300);

/// How often pages are prefaulted during a rest. Each time, the drainer may delay a thread of the program.
const PREFAULT_EVERY: Duration = Duration::from_millis(200);

/// Processor time that a round may take while lanes fill up.
const ROUND_NS: u64 = 100_000;

impl Drainer {
    /// Starts the thread.
    ///
    /// # Errors
    /// Those of the kernel: there are too many threads.
    pub fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            jobs: Mutex::new(Jobs {
                list: Vec::new(),
                prefaulted: Instant::now(),
            }),
            is_awake: AtomicBool::new(true),
            is_over: AtomicBool::new(false),
            must_prefault: AtomicBool::new(false),
            wake_up: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            doorbell: OnceLock::new(),
        });
        let worker = shared.clone();
        thread::Builder::new()
            .name("drainer".into())
            .spawn(move || worker.work())?;
        let requested = Cell::new(Instant::now());
        Ok(Drainer { shared, requested })
    }

    /// Also ends a rest when this descriptor becomes readable. Later calls have no effect.
    pub fn listen_to(&self, doorbell: Arc<OwnedFd>) {
        self.shared.doorbell.get_or_init(|| doorbell);
    }

    /// Adds a memory to drain.
    pub fn add(&self, memory: &Arc<Memory>, copies: &Arc<Mutex<Copies>>) {
        locked(&self.shared.jobs).list.push(Job {
            memory: Arc::downgrade(memory),
            copies: Arc::downgrade(copies),
            mapped: Mapped::default(),
        });
    }

    /// Rests until [`resume`](Self::resume), or until a program rings.
    pub fn pause(&self) {
        self.shared.is_awake.store(false, Ordering::Relaxed);
    }

    /// Continues to copy records.
    pub fn resume(&self) {
        if !self.shared.is_awake.swap(true, Ordering::Relaxed) {
            self.shared.end_rest();
        }
    }

    /// Makes a resting drainer prefault pages that threads will reach soon, if that is urgent or due. Then it
    /// rests again.
    pub fn prefault(&self, is_urgent: bool) {
        if !is_urgent && self.requested.get().elapsed() < PREFAULT_EVERY {
            return;
        }
        self.requested.set(Instant::now());
        self.shared.must_prefault.store(true, Ordering::Relaxed);
        self.shared.end_rest();
    }
}

impl Drop for Drainer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.shared.end_rest();
    }
}

impl Shared {
    fn work(&self) {
        scheduling_priority::ask_for_little(ROUND_NS);
        let mut pause = CALM_PAUSE;
        while !self.is_over.load(Ordering::Relaxed) {
            if !self.is_awake.load(Ordering::Relaxed) {
                self.rest();
                continue;
            }
            thread::sleep(pause);
            // A lane that fills up is more urgent than pages that are not needed yet.
            let mut jobs = locked(&self.jobs);
            if jobs.copy() == 0 {
                jobs.prefault();
                pause = CALM_PAUSE;
            } else {
                pause = SHORT_PAUSE;
            }
            drop(jobs);
        }
    }

    /// Waits until [`end_rest`](Self::end_rest), or until a program rings.
    fn rest(&self) {
        let doorbell = self
            .doorbell
            .get()
            .map_or(&self.wake_up, |shared| &**shared);
        let mut both = [&self.wake_up, doorbell].map(|fd| PollFd::new(fd, PollFlags::IN));
        // An error, such as an interruption, is followed by another call.
        let _ = poll(&mut both, None);
        let is_notified = !both[1].revents().is_empty();
        let _ = rustix::io::read(&self.wake_up, &mut [0; 8]);
        if is_notified {
            self.is_awake.store(true, Ordering::Relaxed);
        }
        if self.must_prefault.swap(false, Ordering::Relaxed) {
            locked(&self.jobs).prefault();
        }
    }

    fn end_rest(&self) {
        // This fails only if the descriptor is readable already.
        let _ = rustix::io::write(&self.wake_up, &1_u64.to_ne_bytes());
    }
}

impl Jobs {
    /// Copies what the lanes of all memories hold. Returns how full the fullest lane was, in eighths.
    fn copy(&mut self) -> u64 {
        self.list.retain(Job::is_in_use);
        let fullest = self.list.iter().filter_map(Job::copy).max();
        fullest.unwrap_or(0)
    }

    /// Prefaults pages that threads will reach soon. The limit is for all memories together.
    fn prefault(&mut self) {
        let elapsed_ms = (self.prefaulted.elapsed().as_millis() as u64).max(1);
        let mut left = MAX_PREFAULT_RECORDS;
        for job in &mut self.list {
            job.prefault(elapsed_ms, &mut left);
        }
        self.prefaulted = Instant::now();
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

    /// Prefaults at most `left` records in lanes that threads use, and subtracts their number from `left`.
    /// `elapsed_ms` is the time since the last call.
    fn prefault(&mut self, elapsed_ms: u64, left: &mut u64) {
        let Some((memory, copies)) = self.parts() else {
            return;
        };
        let ranges = locked(&copies).prefault_ranges(&memory.region(), elapsed_ms, left);
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
