//! How soon a thread gets a processor that others want too.
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

/// How far a thread steps forward that may: only root does, and whom a limit (`RLIMIT_NICE`) lets.
const FORWARD: i32 = -10;

/// How far a thread steps back that can wait.
const BACK: i32 = 5;

/// The calling thread steps back behind the program and the threads that read it. One that may not works
/// all the same.
pub fn step_back() {
    let _ = setpriority_process(Some(gettid()), BACK);
}

/// The calling thread, which sleeps most of the time, gets a processor as soon as it wants one, if it
/// may have that: root may, and whom a limit (`RLIMIT_RTPRIO`) lets. Niceness would count only among
/// threads of its session where the kernel groups them so.
///
/// Otherwise it asks for no more than this at a time, so that it need not wait until others have used
/// up what they asked for, which kernels before 6.12 do not know of, and steps forward if it may.
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
    // Where none is granted, the thread waits as others do.
    [at_once, forward, little].iter().any(ask);
}

/// False if the kernel refuses.
fn ask(attributes: &Attributes) -> bool {
    // SAFETY: the kernel reads the structure, whose size it is told, and nothing else.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *attributes, 0) == 0 }
}
