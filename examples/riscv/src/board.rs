//! The board: a timer that interrupts every millisecond, and the platform of the probe.

use core::sync::atomic::{AtomicBool, Ordering};

use ctp_nostd::{Local, Platform};
use riscv::interrupt::Interrupt;
use riscv::register::mie;
use riscv_rt::core_interrupt;

use crate::alarm;

/// The clock of the timer.
const TICKS_PER_MS: u64 = 10_000;
const NS_PER_TICK: u64 = NS_PER_MS / TICKS_PER_MS;
/// Nanoseconds in a millisecond.
pub const NS_PER_MS: u64 = 1_000_000;

/// The low and the high half of the time, in ticks.
const MTIME: [*const u32; 2] = [0x0200_BFF8 as *const u32, 0x0200_BFFC as *const u32];
/// The halves of the time of the next interrupt.
const MTIMECMP: [*mut u32; 2] = [0x0200_4000 as *mut u32, 0x0200_4004 as *mut u32];

static IS_IN_HANDLER: AtomicBool = AtomicBool::new(false);

/// The platform of the probe.
#[derive(Debug)]
pub struct Board;

// SAFETY: the board has one core. Tasks and the interrupt handler each have a `Local` of their own, and
// no interrupt interrupts the handler. No other platform returns them.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        now_ticks() * NS_PER_TICK
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {
        // No recorder sleeps: the memory is read from outside.
    }

    unsafe fn local() -> Option<&'static Local> {
        static LOCAL: [Local; 2] = [const { Local::new() }; 2];
        Some(&LOCAL[usize::from(IS_IN_HANDLER.load(Ordering::Relaxed))])
    }
}

/// Milliseconds since the start.
pub fn now_ms() -> u64 {
    now_ticks() / TICKS_PER_MS
}

/// Starts the timer.
pub fn start_timer() {
    set_next_interrupt();
    // SAFETY: there is a handler, and no critical section is open.
    unsafe {
        mie::set_mtimer();
        riscv::interrupt::enable();
    }
}

/// Stops the timer's interrupts.
pub fn stop_timer() {
    riscv::interrupt::disable();
}

/// The time, of which the low half may overflow between two reads.
fn now_ticks() -> u64 {
    let [low, high] = MTIME;
    loop {
        // SAFETY: registers of this board, which are only read.
        let (before, ticks, after) = unsafe {
            (
                high.read_volatile(),
                low.read_volatile(),
                high.read_volatile(),
            )
        };
        if before == after {
            return u64::from(after) << 32 | u64::from(ticks);
        }
    }
}

/// Requests an interrupt at the start of the next millisecond.
fn set_next_interrupt() {
    let ticks = (now_ms() + 1) * TICKS_PER_MS;
    let [low, high] = MTIMECMP;
    // SAFETY: registers of this board that no other function uses. With the highest high half, no
    // interrupt comes before both halves are written.
    unsafe {
        high.write_volatile(u32::MAX);
        low.write_volatile(ticks as u32);
        high.write_volatile((ticks >> 32) as u32);
    }
}

#[core_interrupt(Interrupt::MachineTimer)]
fn machine_timer() {
    IS_IN_HANDLER.store(true, Ordering::Relaxed);
    set_next_interrupt();
    alarm::wake_due(now_ms());
    IS_IN_HANDLER.store(false, Ordering::Relaxed);
}
