//! Five tasks without an operating system. The trace should show that `radio` is stuck at its
//! `Wait::user(IRQ_RADIO)`: woken 52 ms after the start, during a run, and not run since.
//!
//! ```text
//! freestanding ram.bin
//! ctp-record --image ram.bin --elf freestanding
//! ctp-report --stuck
//! ```
//! Without an argument the dump goes to standard output. The program's own account of each task
//! goes to standard error.
#![no_std]
#![no_main]
// Else the loop in `memcpy` would be compiled into a call of `memcpy`.
#![no_builtins]

mod board;
mod dump;
mod kernel;
mod start;
mod tasks;

use core::ffi::CStr;

use board::ms;
use ctp_nostd::Memory;
use kernel::Kernel;

/// Found in a dump by its magic. Its own section makes it easy to find in a debugger.
// SAFETY: nothing else is in this section, and its name has no meaning to the linker.
#[unsafe(link_section = ".ctp")]
static CTP: Memory<16> = Memory::new();

/// How long the board is watched; at the end nothing is ready but what is stuck.
const WATCHED: u64 = ms(4_005);

fn main(output: Option<&CStr>) -> i32 {
    let probe = CTP.probe();
    let tasks = tasks::spawn(probe);
    Kernel::new(&tasks).run(board::now() + WATCHED);
    // The tasks are alive: a dump is taken from a program that runs.
    match dump::write(CTP.extent(), output).and_then(|()| dump::report(&tasks)) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}
