//! Signal dispositions that a program inherits.
#![allow(
    unsafe_code,
    reason = "runs code before main, and between fork and exec"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes the program start with this signal ignored.
pub fn ignore(program: &mut Command, signal: i32) {
    // SAFETY: between fork and exec only async-signal-safe functions may run. `signal` is one of them (POSIX, 2.4.3),
    // and nothing is allocated.
    unsafe { program.pre_exec(move || set_ignored(signal)) };
}

fn set_ignored(signal: i32) -> io::Result<()> {
    // SAFETY: the signal number is valid, and no handler is installed.
    match unsafe { libc::signal(signal, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether the recorder was started with SIGPIPE ignored, as services often are. The standard library ignores the
/// signal before `main`, but restores the default in child processes.
pub fn ignores_broken_pipes() -> bool {
    BROKEN_PIPES_IGNORED.load(Ordering::Relaxed)
}

static BROKEN_PIPES_IGNORED: AtomicBool = AtomicBool::new(false);

/// Called by the loader (System V ABI, "Initialization and Termination Functions").
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = remember;

extern "C" fn remember() {
    let mut present = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only reads the disposition, into memory of the right type, for which all zeros are a valid value.
    let present = unsafe {
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), present.as_mut_ptr());
        present.assume_init()
    };
    let is_ignored = present.sa_sigaction == libc::SIG_IGN;
    BROKEN_PIPES_IGNORED.store(is_ignored, Ordering::Relaxed);
}
