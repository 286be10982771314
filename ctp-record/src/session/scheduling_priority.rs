//! Scheduling priorities of the recorder's threads.
#![allow(
    unsafe_code,
    reason = "a system call for which there is no safe wrapper"
)]

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;

/// Linux's `struct sched_attr`, as of its first version (`sched_setattr(2)`).
#[derive(Clone, Copy)]
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

impl Default for Attributes {
    fn default() -> Self {
        Attributes {
            size: size_of::<Self>() as u32,
            policy: libc::SCHED_OTHER as u32,
            flags: 0,
            nice: 0,
            priority: 0,
            runtime_ns: 0,
            deadline_ns: 0,
            period_ns: 0,
        }
    }
}

/// Added to the niceness of a thread that may lower it: as root, or within a limit (`RLIMIT_NICE`).
const FORWARD: i32 = -10;

/// The niceness of background threads.
const BACK: i32 = 5;

/// Lowers the priority of the calling thread, so that the program and the reading threads run first. If that is not
/// permitted, the priority stays the same.
pub fn step_back() {
    let _ = setpriority_process(Some(gettid()), BACK);
}

/// Asks the kernel to run the calling thread, which sleeps most of the time, as soon as it wakes.
///
/// With permission (root, or `RLIMIT_RTPRIO`), this uses real-time scheduling. Niceness alone may not help: where the
/// kernel groups threads by session, it counts only within a session.
///
/// Otherwise, the thread asks for a short time slice, so that it need not wait until others have used up theirs
/// (Linux 6.12 and later), and lowers its niceness if permitted.
pub fn ask_for_little(runtime_ns: u64) {
    let nice = getpriority_process(None).unwrap_or(0);
    let at_once = Attributes {
        policy: libc::SCHED_FIFO as u32,
        priority: 1,
        ..Attributes::default()
    };
    let little = Attributes {
        nice,
        runtime_ns,
        ..Attributes::default()
    };
    let forward = Attributes {
        nice: (nice + FORWARD).max(-20),
        ..little
    };
    // If none is granted, the thread waits like any other.
    [at_once, forward, little].iter().any(ask);
}

/// Applies the attributes. Returns whether the kernel accepted.
fn ask(attributes: &Attributes) -> bool {
    // SAFETY: the kernel reads only this structure. Its size field is right.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *attributes, 0) == 0 }
}
