//! Three async tasks on a Cortex-M4. The trace should show that `radio` is STUCK at its
//! `FRAMES.received()`: an interrupt woke it while it ran, and the executor has not run it since.
//!
//! ```text
//! qemu-system-arm -machine mps2-an386,memory-backend=ram -icount shift=5,sleep=off -nographic \
//!     -object memory-backend-file,id=ram,size=16M,mem-path=ram.bin,share=on \
//!     -semihosting-config enable=on,target=native -kernel target/thumbv7em-none-eabihf/release/cortex-m-tasks
//!                                         (type Ctrl-A X after the line "done")
//! ctp-record --image ram.bin --elf target/thumbv7em-none-eabihf/release/cortex-m-tasks
//! ctp-report --stuck
//! ```
//! Before it sleeps, the firmware prints its own account of each task.
#![no_std]
#![no_main]

mod board;
mod executor;
mod signal;
mod tasks;

use core::panic::PanicInfo;
use core::pin::pin;

use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use ctp_nostd::Memory;
use ctp_nostd::aggregate::Bins;
use executor::{Ready, Task};

/// A dump is found by its magic, and a debugger finds it by its name.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
static CTP: Memory<4, 8> = Memory::new().with_aggregates(Bins::USUAL);

static READY: Ready = Ready::new();

/// How long the tasks run; at the end nothing is ready but what is stuck.
const WATCHED_MS: u32 = 3_000;

#[entry]
fn main() -> ! {
    board::start_timer();
    let probe = CTP.probe();
    let (blink, radio, log) = (
        pin!(tasks::blink()),
        pin!(tasks::radio()),
        pin!(tasks::log()),
    );
    let tasks = [
        Task::new(probe, "blink", blink),
        Task::new(probe, "radio", radio),
        Task::new(probe, "log", log),
    ];
    executor::run(&READY, tasks, WATCHED_MS)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {
        cortex_m::asm::bkpt();
    }
}
