//! Tasks on embassy's executors, on a Cortex-M4. The trace should show that `radio` is STUCK at its
//! `FRAMES.received()`: a frame came while the driver had not stored the task's waker yet.
//!
//! `control` runs on an executor in an interrupt handler, the other tasks run on the executor of thread
//! mode. Each `session` ends, and the next is spawned in its storage. At the end, the firmware prints its
//! own account of each task. `docs/bare-metal.md` has the commands.
#![no_std]
#![no_main]

mod account;
mod board;
mod driver;
mod tasks;

use core::panic::PanicInfo;

use cortex_m_semihosting::{debug, hprintln};
use ctp_nostd::aggregate::Bins;
use ctp_nostd::{Embassy, Memory};
use embassy_executor::Spawner;

use board::Board;

// The hooks of the executor record into this static, and a debugger finds it by its name.
// With statistics, the report knows how long the waits at a line usually take.
ctp_nostd::embassy!(
    static CTP: Embassy<Board, 8, 16> =
        Embassy::with_memory(Memory::new().with_aggregates(Bins::USUAL));
);

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let interrupts = board::start();
    tasks::spawn_all(spawner, interrupts);
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {
        cortex_m::asm::bkpt();
    }
}
