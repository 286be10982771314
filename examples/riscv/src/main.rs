//! Six async tasks on a 32-bit RISC-V, in compact memory. The trace should show that `radio` is STUCK in
//! the line of its wait: an interrupt woke it while the executor's queue was full, and the executor has not
//! run it since. At the end, the firmware prints its own account of each task.
//!
//! With the feature `ring`, the memory has a history of all tasks, so that a recorder that follows the
//! firmware may be late. `docs/bare-metal.md` has the commands.
#![no_std]
#![no_main]

mod account;
mod alarm;
mod board;
mod executor;
mod ready;
mod tasks;

use core::panic::PanicInfo;
use core::pin::pin;

use riscv_rt::entry;
use riscv_semihosting::{debug, hprintln};

use alarm::ALARMS;
use executor::Task;
use memory::{Layout, Memory};
use tasks::LOG;

/// Without the feature `ring`, the memory has the latest two events of each task.
#[cfg(not(feature = "ring"))]
mod memory {
    pub type Layout = ctp_nostd::layout::Compact;
    pub type Memory = ctp_nostd::CompactMemory<8, 16>;
}

/// With the feature `ring`, the memory also has the latest 256 records of all tasks.
#[cfg(feature = "ring")]
mod memory {
    pub type Layout = ctp_nostd::layout::CompactWithRing;
    pub type Memory = ctp_nostd::RingMemory<8, 256, 16>;
}

/// A dump is found by its magic, and a debugger finds it by its name.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
static CTP: Memory = Memory::new();

#[entry]
fn main() -> ! {
    let probe = CTP.probe();
    let [first, second, third, fourth, last] = &ALARMS;
    board::start_timer();
    executor::run([
        Task::new(probe, 0, pin!(tasks::periodic(first, 4))),
        Task::new(probe, 1, pin!(tasks::periodic(second, 8))),
        Task::new(probe, 2, pin!(tasks::periodic(third, 16))),
        Task::new(probe, 3, pin!(tasks::periodic(fourth, 32))),
        Task::new(probe, 4, pin!(tasks::radio(last))),
        Task::new(probe, LOG, pin!(tasks::log())),
    ])
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {
        riscv::asm::wfi();
    }
}
