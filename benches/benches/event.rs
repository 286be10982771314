//! The cost of an event for the program, compared with a bare read of the processor's counter, a read
//! of the kernel's clock, and a reference writer that works like the published v1 SDKs.
//!
//! Measures without a recorder first, and then under the real recorder.

use std::hint::{black_box, spin_loop};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use std::thread;
use std::time::Duration;

use ctp_benches::memory::{Borrowed, Memory, kernel_ns};
use ctp_benches::{Times, anything_happens, recorder, this_program, times};
use ctp_nostd::aggregate::{Bins, MODE_FLIGHT, MODE_HISTORY, MODE_SUMMARY};
use ctp_nostd::control::Control;
use ctp_nostd::layout::Station;
use ctp_nostd::{Task, Wait, clock};

/// Each role: the argument, what an event writes, the number of lanes, and the mode.
const ROLES: [(&str, &str, u32, u32); 4] = [
    ("--as=lane", "slot and lane", 4, MODE_HISTORY),
    ("--as=flight", "slot, lane and aggregate", 4, MODE_FLIGHT),
    ("--as=slot", "slot", 0, MODE_HISTORY),
    ("--as=summary", "slot and aggregate", 0, MODE_SUMMARY),
];

fn main() {
    let role = std::env::args().find(|argument| argument.starts_with("--as="));
    match role.as_deref() {
        None => all(),
        Some("--as=fallback") => {
            let _borrowed = Borrowed::attach();
            events("kernel clock, full fence, slot", &Comparison::new(), || ());
        }
        Some("--as=recorded") => recorded(),
        Some(role) => borrowed(role),
    }
}

fn all() {
    unattached();
    aggregates();
    for (role, _, lanes, mode) in ROLES {
        run_self_in(&Memory::new(lanes, mode), role);
    }
    run_self_in(&Memory::of_the_fallback(), "--as=fallback");
    let modes = [
        &[][..],
        &["--buffer", "0"],
        &["--flight-recorder"],
        &["--summary"],
    ];
    modes.into_iter().for_each(run_self_under_recorder);
}

fn unattached() {
    let task = Task::born("unrecorded");
    let event = pair(&task, || ());
    println!("not attached:");
    event.report("event", None);
}

/// Measures a run and a suspend. The times are for a single event.
fn pair(task: &Task, before: impl FnMut()) -> Times {
    let task = black_box(task);
    times(2, before, || {
        task.run();
        anything_happens();
        task.suspend(Wait::readable(3));
        anything_happens();
    })
}

/// The same with many coroutines in turn, so that most of a coroutine's memory is no longer cached.
fn by_turns(before: impl FnMut()) -> Times {
    let tasks: Vec<Task> = (0..4_096).map(|_| Task::born("many")).collect();
    let mut turns = tasks.iter().cycle();
    times(2, before, || {
        let task = turns.next().expect("an endless cycle");
        task.run();
        task.suspend(Wait::readable(3));
    })
}

/// What an event is compared to.
struct Comparison {
    counter: Times,
}

impl Comparison {
    fn new() -> Self {
        let counter = times(
            1,
            || (),
            || {
                black_box(clock::ticks());
            },
        );
        Comparison { counter }
    }

    fn report(&self) {
        let kernel = times(
            1,
            || (),
            || {
                black_box(kernel_ns());
            },
        );
        let counter = Some(&self.counter);
        self.counter.report("the processor's counter, bare", None);
        kernel.report("the kernel's clock, bare", counter);
        reference_writer().report("reference writer", counter);
    }
}

// LT-02
fn events(what: &str, comparison: &Comparison, before: impl Fn()) {
    println!("{what}:");
    comparison.report();
    let with = Some(&comparison.counter);
    let [task, other] = ["one", "other"].map(Task::born);
    pair(&task, &before).report("event", with);
    by_turns(&before).report("event, 4 096 coroutines in turn", with);
    let switch = times(2, &before, || {
        task.switch_to(Wait::to_yield(), &other);
        other.switch_to(Wait::to_yield(), &task);
    });
    switch.report("switch_to(), both events", with);
    let separate = times(2, &before, || {
        task.suspend(Wait::to_yield());
        other.run();
        other.suspend(Wait::to_yield());
        task.run();
    });
    separate.report("  the same in two calls", with);
    let waker = task.waker();
    times(1, &before, || waker.wake()).report("wake()", with);
}

fn borrowed(role: &str) {
    let borrowed = Borrowed::attach();
    let mine = ROLES.iter().find(|(name, ..)| *name == role);
    let (_, what, lanes, _) = mine.expect("a role that the parent gives");
    let comparison = Comparison::new();
    events(what, &comparison, || borrowed.empty_lanes());
    if role == "--as=lane" {
        kept_out(&borrowed, &comparison);
    }
    if *lanes > 0 {
        two_threads(&borrowed);
    }
}

// LT-10, LT-31
fn kept_out(borrowed: &Borrowed, comparison: &Comparison) {
    let task = Task::born("kept out");
    let with = Some(&comparison.counter);
    borrowed.command(Control {
        without_runs: true,
        without_suspends: true,
        ..Control::default()
    });
    pair(&task, || ()).report("event of a filtered kind", with);
    borrowed.command(Control {
        stopped: true,
        ..Control::default()
    });
    pair(&task, || ()).report("event while recording is stopped", with);
    borrowed.command(Control::default());
}

/// Measures events on a single thread, and on two threads at once with a coroutine and a lane each.
// CTP-36, LT-03
fn two_threads(borrowed: &Borrowed) {
    let times = pair(&Task::born("alone"), || borrowed.empty_lanes());
    let turn = AtomicU32::new(0);
    let is_over = AtomicBool::new(false);
    let two = thread::scope(|scope| {
        scope.spawn(|| {
            let task = Task::born("second");
            for round in 1.. {
                while turn.load(Ordering::Acquire) < round {
                    spin_loop();
                }
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                for _ in 0..ctp_benches::CALLS {
                    task.run();
                    task.suspend(Wait::readable(3));
                }
            }
        });
        let two = pair(&Task::born("first"), || {
            borrowed.empty_lanes();
            turn.fetch_add(1, Ordering::Release);
        });
        is_over.store(true, Ordering::Release);
        turn.fetch_add(1, Ordering::Release);
        two
    });
    two.report("event, while another thread records too", None);
    let gain = 2.0 * times.least_ns / two.least_ns;
    println!(
        "  {:<42} {gain:>8.2} x",
        "two threads, relative to a single thread"
    );
}

fn recorded() {
    assert!(ctp_nostd::attach(), "the recorder provides memory");
    let flags = std::env::var("CTP_BENCH_FLAGS").unwrap_or_default();
    let what = format!("under ctp-record {flags}");
    // The recorder keeps up, so that no lane is ever full.
    events(what.trim_end(), &Comparison::new(), || {
        thread::sleep(Duration::from_micros(300))
    });
}

/// Measures an update of an aggregate, alone and while another thread reads without a pause.
// AGG-04, AGG-20
fn aggregates() {
    let station = Station::default();
    let latched = station.waiting();
    latched.clear();
    let mut n = 0u64;
    let mut update = || {
        n += 1;
        let ns = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44; // of all bins up to a millisecond
        black_box(latched.add(ns, Bins::USUAL));
    };
    let alone = times(1, || (), &mut update);
    let is_over = AtomicBool::new(false);
    let read = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                black_box(latched.read());
            }
        });
        let read = times(1, || (), &mut update);
        is_over.store(true, Ordering::Relaxed);
        read
    });
    println!("update of an aggregate:");
    alone.report("alone", None);
    read.report("while another processor reads", None);
}

/// The words of a v1 slot, and the header's flag.
#[derive(Default)]
#[repr(C, align(64))]
struct Slot {
    timestamp: AtomicU64,
    tid: AtomicU64,
    addr: AtomicU64,
    seq: AtomicU64,
    reserved: [AtomicU8; 31],
    is_active: AtomicU8,
}

/// Measures gettid, clock_gettime, a release store before and after the payload, a full fence, and a
/// read of the flag.
fn reference_writer() -> Times {
    let slots: [Slot; 8] = Default::default();
    let sleeping = AtomicU32::new(0);
    let mut n = 0;
    times(
        1,
        || (),
        || {
            let slot = &slots[n % 8];
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as u64;
            let now = kernel_ns();
            let old = slot.seq.load(Ordering::Relaxed);
            slot.seq.store(old + 1, Ordering::Release);
            slot.timestamp.store(now, Ordering::Relaxed);
            slot.tid.store(tid, Ordering::Relaxed);
            slot.addr.store(n as u64, Ordering::Relaxed);
            slot.is_active.store((n % 2) as u8, Ordering::Relaxed);
            slot.seq.store(old + 2, Ordering::Release);
            fence(Ordering::SeqCst);
            black_box(sleeping.load(Ordering::Relaxed) == 1);
            n += 1;
        },
    )
}

fn run_self_in(memory: &Memory, role: &str) {
    let mut command = Command::new(this_program());
    let status = memory.lend(command.arg(role)).status();
    assert!(status.expect("can run itself").success());
}

fn run_self_under_recorder(flags: &[&str]) {
    let Some(recorder) = recorder() else { return };
    let status = Command::new(recorder)
        .args(["-q", "-o", "/dev/null"])
        .args(flags)
        .arg("--")
        .arg(this_program())
        .arg("--as=recorded")
        .env("CTP_BENCH_FLAGS", flags.join(" "))
        .status();
    assert!(status.expect("can run the recorder").success());
}
