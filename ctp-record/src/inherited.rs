//! What a program inherits at its start.
#![allow(unsafe_code, reason = "runs code between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The program will ignore this signal from its first instruction on.
pub fn ignore(program: &mut Command, signal: i32) {
    let ignore = move || {
        // SAFETY: the signal's number is valid and nothing is called when it comes.
        match unsafe { libc::signal(signal, libc::SIG_IGN) } {
            libc::SIG_ERR => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: between fork and exec only what is async-signal-safe may run, as `signal` is (POSIX,
    // 2.4.3); nothing is allocated.
    unsafe { program.pre_exec(ignore) };
}
