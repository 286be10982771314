//! A target that logs the time of each of its events: `ledger TRUTH THREADS EVENTS [wait]`.
//!
//! Each of THREADS threads has a coroutine, which runs and suspends at full speed until it has had
//! EVENTS events, including birth and death. With `wait` it does not die but waits to be killed.
//! The program has its own platform, which sees each clock reading of the probe.
//!
//! TRUTH is a mapped file, so it survives the program. It has a row of EVENTS + 1 words for each
//! coroutine: the number of finished events, and the start time of each event.
#![allow(
    unsafe_code,
    reason = "the truth has to survive, so it is memory shared with a file, and the recorder's \
              memory is mapped without the probe's own platform"
)]

use std::cell::Cell;
use std::fs::File;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::compiler_fence;
use std::thread;
use std::time::Duration;

use ctp_nostd::{Platform, Probe, Region, Wait};
use memmap2::{MmapOptions, MmapRaw};
use rustix::time::{ClockId, clock_gettime};

static TRUTH: OnceLock<Truth> = OnceLock::new();

thread_local! {
    /// Which coroutine this thread has, and its next event.
    static NEXT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The Linux platform, with a log of all clock readings.
struct Noting;

// SAFETY: there is no `Local`.
unsafe impl Platform for Noting {
    fn now_ns() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        let at = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let (row, n) = NEXT.get();
        truth().word(row, 1 + n).store(at, Relaxed);
        at
    }

    fn thread() -> u64 {
        1
    }

    /// The recorder looks from time to time.
    fn ring() {}
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse::<usize>().expect("a number");
    let (threads, events) = (number(1), number(2));
    let waits = arguments.get(3).is_some();
    TRUTH.get_or_init(|| Truth::create(&arguments[0], threads, events));
    let probe = attach();
    thread::scope(|scope| {
        for row in 0..threads {
            scope.spawn(move || live(probe, row, events, waits));
        }
    });
}

fn live(probe: Probe<Noting>, row: usize, events: usize, waits: bool) {
    let mut coroutine = None;
    for n in 0..events {
        NEXT.set((row, n));
        match (n, n % 2) {
            (0, _) => coroutine = Some(probe.born(&format!("ledger-{row}"))),
            (n, _) if n + 1 == events && !waits => coroutine = None,
            (_, 1) => coroutine.iter().for_each(|coroutine| coroutine.run()),
            _ => coroutine
                .iter()
                .for_each(|coroutine| coroutine.suspend(Wait::user(7))),
        }
        compiler_fence(SeqCst);
        truth().word(row, 0).store(n as u64 + 1, Relaxed);
        compiler_fence(SeqCst);
    }
    if waits {
        thread::sleep(Duration::from_secs(60)); // limits the life of the program
    }
    std::mem::forget(coroutine);
}

fn attach() -> Probe<Noting> {
    let path = std::env::var("CTP_SHM_PATH").expect("is set by the recorder");
    let file = File::options().read(true).write(true).open(path);
    let map = MmapOptions::new().map_raw(&file.expect("can be opened"));
    let map: &'static MmapRaw = Box::leak(Box::new(map.expect("can be mapped")));
    // SAFETY: mapped for as long as the program lives, and touched by nothing but this region. The
    // recorder has sealed its length.
    let region = unsafe { Region::new(map.as_mut_ptr(), map.len(), u32::MAX) };
    Probe::new(region.expect("the recorder made it"), 1)
}

fn truth() -> &'static Truth {
    TRUTH.get().expect("was made first of all")
}

struct Truth {
    map: MmapRaw,
    events: usize,
}

impl Truth {
    fn create(path: &str, rows: usize, events: usize) -> Self {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).open(path);
        let file = file.expect("can be made");
        file.set_len((rows * (events + 1) * 8) as u64)
            .expect("there is room");
        let map = MmapRaw::map_raw(&file).expect("can be mapped");
        Truth { map, events }
    }

    fn word(&self, row: usize, index: usize) -> &AtomicU64 {
        let at = (row * (self.events + 1) + index) * 8;
        assert!(index <= self.events && at < self.map.len());
        // SAFETY: in bounds, aligned since the mapping is, alive as long as `self`, and used
        // through atomics only.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
    }
}
