//! What does one event cost the program: not attached, attached, and under the real recorder,
//! beside a reference writer that does what the published v1 SDKs do?

use std::hint::black_box;
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

use ctp_benches::{median_ns, recorder, report, this_program};
use ctp_nostd::aggregate::{Bins, Latched};
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::layout::Aggregate;
use ctp_nostd::{Linux, Platform as _, Region, Task, Wait};
use memmap2::MmapOptions;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 31;
const CALLS: u32 = 100_000;

fn main() {
    match std::env::args()
        .find(|argument| argument.starts_with("--as="))
        .as_deref()
    {
        Some("--as=attached") => attached("fallback: kernel clock, full fence"),
        Some("--as=recorded") => {
            attached("attached, under ctp-record");
            kept_out();
        }
        Some("--as=slots") => attached("attached, under ctp-record --buffer 0: slot"),
        Some("--as=summary") => {
            attached("attached, under ctp-record --summary: slot and aggregate")
        }
        Some("--as=flight") => {
            attached("attached, under ctp-record --flight-recorder: slot, lane and aggregate")
        }
        _ => {
            unattached();
            aggregates();
            run_self_in_own_memory();
            run_self_under_recorder("--as=recorded", &[]);
            run_self_under_recorder("--as=slots", &["--buffer", "0"]);
            run_self_under_recorder("--as=summary", &["--summary"]);
            run_self_under_recorder("--as=flight", &["--flight-recorder"]);
        }
    }
}

fn unattached() {
    let task = Task::born("nobody records");
    let pair = median_ns(ROUNDS, CALLS, || {
        black_box(&task).run();
        black_box(&task).suspend(Wait::readable(3));
    });
    report("event, not attached", pair / 2.0, None);
}

/// One update of an aggregate, alone, and while somebody reads it without a pause.
// AGG-04, AGG-20
fn aggregates() {
    let (latch, a, b) = (
        AtomicU32::new(0),
        Aggregate::default(),
        Aggregate::default(),
    );
    let latched = Latched::new(&latch, &a, &b);
    latched.clear();
    let mut n = 0u64;
    let mut update = || {
        n += 1;
        let ns = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44; // of all bins up to a millisecond
        black_box(latched.add(ns, Bins::USUAL));
    };
    let alone = median_ns(ROUNDS, CALLS, &mut update);
    let is_over = AtomicBool::new(false);
    let read = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                black_box(latched.read());
            }
        });
        let read = median_ns(ROUNDS, CALLS, &mut update);
        is_over.store(true, Ordering::Relaxed);
        read
    });
    report("update of an aggregate", alone, None);
    let beside = Some(("alone", alone));
    report("  read all the time by another processor", read, beside);
}

fn attached(what: &str) {
    assert!(ctp_nostd::attach(), "the parent provides memory");
    let reference = reference_writer();
    let clock = median_ns(ROUNDS, CALLS, || {
        black_box(Linux::now_ns());
    });
    let task = Task::born("bench");
    let pair = median_ns(ROUNDS, CALLS, || {
        task.run();
        task.suspend(Wait::readable(3));
    });
    let waker = task.waker();
    let wake = median_ns(ROUNDS, CALLS, || waker.wake());
    println!("{what}:");
    let beside = Some(("the reference", reference));
    report("  reference writer", reference, None);
    report("  event", pair / 2.0, beside);
    report("    of which the clock", clock, beside);
    report("  wake()", wake, beside);
}

/// LT-10, LT-31: what an event costs that is kept out, beside one that is not.
fn kept_out() {
    let task = Task::born("bench");
    let pair = || {
        median_ns(ROUNDS, CALLS, || {
            task.run();
            task.suspend(Wait::readable(3));
        })
    };
    let event = pair() / 2.0;
    let beside = Some(("an event", event));
    control(&["filter", "kind=birth,death"]);
    report("  event of a kind that is kept out", pair() / 2.0, beside);
    control(&["stop"]);
    report("  event while recording is stopped", pair() / 2.0, beside);
}

fn control(words: &[&str]) {
    let me = std::process::id().to_string();
    let Some(recorder) = recorder() else { return };
    let mut command = Command::new(recorder);
    command.args(["control", &me]).args(words);
    let said = command.output().expect("can be asked");
    assert!(said.status.success(), "{said:?}");
}

fn kernel_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
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

/// gettid, clock_gettime, a release store before and after the payload, a full fence, the flag.
fn reference_writer() -> f64 {
    let slots: [Slot; 8] = Default::default();
    let sleeping = AtomicU32::new(0);
    let mut n = 0;
    median_ns(ROUNDS, CALLS, || {
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
    })
}

#[expect(unsafe_code, reason = "vouches for the mapping that it makes")]
fn run_self_in_own_memory() {
    let plan = Plan::without_lanes(64);
    let file = memfd_create("bench", MemfdFlags::empty()).expect("a memfd");
    ftruncate(&file, plan.bytes()).expect("room");
    let map = MmapOptions::new().map_raw(&file).expect("a mapping");
    // SAFETY: just mapped, zeroed, and kept mapped to the end of this function.
    unsafe { Region::create(map.as_mut_ptr(), map.len(), plan, &Recording::default()) }
        .expect("fresh memory is right");
    let status = Command::new(this_program())
        .arg("--as=attached")
        .env(
            "CTP_SHM_PATH",
            format!("/proc/self/fd/{}", file.as_raw_fd()),
        )
        .env("CTP_MAX_STATIONS", "64")
        .status();
    assert!(status.expect("can run itself").success());
}

fn run_self_under_recorder(role: &str, flags: &[&str]) {
    let Some(recorder) = recorder() else { return };
    let status = Command::new(recorder)
        .args(["-q", "-o", "/dev/null"])
        .args(flags)
        .arg("--")
        .arg(this_program())
        .arg(role)
        .status();
    assert!(status.expect("can run the recorder").success());
}
