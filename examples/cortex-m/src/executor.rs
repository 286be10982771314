//! The executor: polls what is ready, and sleeps until an interrupt makes something ready.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::panic::Location;
use core::pin::Pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::{Context, RawWaker, RawWakerVTable, Waker};

use cortex_m_semihosting::hprintln;
use ctp_nostd::{Coroutine, Kind, Probe, waker};

use crate::board::{self, Board};

/// The number of tasks.
const TASKS: usize = 3;

/// A bit for each task that is to be polled.
pub struct Ready(AtomicU32);

impl Ready {
    /// Nothing is ready.
    pub const fn new() -> Self {
        Ready(AtomicU32::new(0))
    }
}

/// A task and its trace.
pub struct Task<'f> {
    name: &'static str,
    trace: Coroutine<Board>,
    future: Pin<&'f mut dyn Future<Output = ()>>,
    has_ended: bool,
    runs: u32,
    suspends: u32,
    /// Wakes before the latest run.
    answered: u32,
}

impl<'f> Task<'f> {
    /// A task that has not run yet.
    #[track_caller]
    pub fn new(
        probe: Probe<Board>,
        name: &'static str,
        future: Pin<&'f mut dyn Future<Output = ()>>,
    ) -> Self {
        Task {
            name,
            trace: probe.born_as(name, Kind::Future, Location::caller()),
            future,
            has_ended: false,
            runs: 0,
            suspends: 0,
            answered: 0,
        }
    }

    fn poll(&mut self, target: &Target<'_>) {
        self.trace.run();
        self.runs += 1;
        self.answered = target.wakes.load(Ordering::Relaxed);
        let waker = waker_of(target);
        if self
            .future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
        {
            self.has_ended = true;
            self.trace = Coroutine::mute(); // the end of the coroutine
        } else {
            self.trace.suspend_announced();
            self.suspends += 1;
        }
    }
}

/// What the waker of a task leads to.
struct Target<'r> {
    ready: &'r Ready,
    bit: u32,
    trace: waker::Waker<Board>,
    wakes: AtomicU32,
}

/// Runs the tasks for this long, prints an account of each, and sleeps.
pub fn run(ready: &Ready, mut tasks: [Task<'_>; TASKS], for_ms: u32) -> ! {
    let mut bits = (0..).map(|index| 1 << index);
    let targets = tasks.each_ref().map(|task| Target {
        ready,
        bit: bits.next().unwrap_or(0),
        trace: task.trace.waker(),
        wakes: AtomicU32::new(0),
    });
    ready.0.store((1 << TASKS) - 1, Ordering::Relaxed);
    while board::now_ms() < for_ms {
        poll_due(ready, &mut tasks, &targets);
        cortex_m::asm::wfi();
    }
    cortex_m::interrupt::disable();
    while ready.0.load(Ordering::Acquire) != 0 {
        poll_due(ready, &mut tasks, &targets);
    }
    report(&tasks, &targets);
    loop {
        cortex_m::asm::wfi(); // the tasks are alive in the dump
    }
}

/// Polls each task that is ready.
fn poll_due(ready: &Ready, tasks: &mut [Task<'_>; TASKS], targets: &[Target<'_>; TASKS]) {
    for (task, target) in tasks.iter_mut().zip(targets) {
        if ready.0.load(Ordering::Acquire) & target.bit == 0 {
            continue;
        }
        if !task.has_ended {
            task.poll(target);
        }
        // The fault: a wake during the poll is discarded with the wake that led to the poll.
        ready.0.fetch_and(!target.bit, Ordering::AcqRel);
    }
}

fn report(tasks: &[Task<'_>; TASKS], targets: &[Target<'_>; TASKS]) {
    for (task, target) in tasks.iter().zip(targets) {
        hprintln!(
            "task {} runs {} suspends {} wakes {} answered {}",
            task.name,
            task.runs,
            task.suspends,
            target.wakes.load(Ordering::Relaxed),
            task.answered
        );
    }
    hprintln!("done");
}

const VTABLE: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), wake, wake, |_| ());

/// A waker that does not outlive its target: the firmware never leaves `run`.
fn waker_of(target: &Target<'_>) -> ManuallyDrop<Waker> {
    let data = core::ptr::from_ref(target) as *const ();
    // SAFETY: the functions of the table keep the rules of `RawWaker`: they only use the target.
    ManuallyDrop::new(unsafe { Waker::new(data, &VTABLE) })
}

fn wake(data: *const ()) {
    // SAFETY: `waker_of` made the pointer from a reference to a target that still exists.
    let target = unsafe { &*(data as *const Target<'_>) };
    target.trace.wake(); // recorded first, because a task that is ready can run at once
    target.wakes.fetch_add(1, Ordering::Relaxed);
    target.ready.0.fetch_or(target.bit, Ordering::AcqRel);
}
