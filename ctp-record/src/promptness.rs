//! How soon a thread gets a processor that others want too.
#![allow(
    unsafe_code,
    reason = "a system call for which there is no safe wrapper"
)]

use rustix::process::getpriority_process;

/// Linux's `struct sched_attr`, as of its first version (`sched_setattr(2)`).
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

/// How far a thread steps forward that may: only root does, and whom a limit (`RLIMIT_NICE`) lets.
const FORWARD: i32 = -10;

/// The calling thread asks for no more than this at a time, so that it need not wait until others
/// have used up what they asked for. Kernels before 6.12 do not know of that. If it may, it also
/// steps forward: on a machine that is busy with something else, that is what counts.
pub fn ask_for_little(runtime_ns: u64) {
    let nice = getpriority_process(None).unwrap_or(0);
    let may_step_forward = ask(nice + FORWARD, runtime_ns);
    if !may_step_forward {
        ask(nice, runtime_ns);
    }
}

/// False if the kernel refuses.
fn ask(nice: i32, runtime_ns: u64) -> bool {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: nice.max(-20),
        priority: 0,
        runtime_ns,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the kernel reads the structure, whose size it is told, and nothing else. Where it
    // refuses, the thread waits as others do.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}
