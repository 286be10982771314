//! The board: a timer that interrupts every millisecond, an executor in an interrupt handler, and the
//! platform of the probe.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::Peripherals;
use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::scb::VectActive;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
use cortex_m_rt::exception;
use ctp_nostd::{Local, Platform};
use embassy_executor::{InterruptExecutor, SendSpawner};

use crate::account;
use crate::driver::{FRAMES, TICKS, Tick};

/// The processor's clock.
const CYCLES_PER_MS: u32 = 25_000;
const NS_PER_CYCLE: u32 = 1_000_000 / CYCLES_PER_MS;

/// A frame is received this often.
const FRAME_EVERY_MS: u32 = 5;

/// Nothing is raised from this time on.
const WATCHED_MS: u32 = 3_000;

/// When the account is printed. Everything that was raised is handled by then.
const PRINTED_MS: u32 = WATCHED_MS + 20;

static MILLISECONDS: AtomicU32 = AtomicU32::new(0);
static INTERRUPTS: InterruptExecutor = InterruptExecutor::new();

/// The platform of the probe.
#[derive(Debug)]
pub struct Board;

// SAFETY: the board has one core. Thread mode and interrupt handlers each have a `Local` of their own,
// and all interrupts have the same priority. No other platform returns them.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        // The timer counts down. If it interrupts between the two, they are read again.
        let (ms, left) = loop {
            let (before, left) = (now_ms(), SYST::get_current());
            if now_ms() == before {
                break (before, left);
            }
        };
        u64::from(ms) * 1_000_000 + u64::from((CYCLES_PER_MS - left) * NS_PER_CYCLE)
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {
        // No recorder sleeps: the memory is read from outside.
    }

    unsafe fn local() -> Option<&'static Local> {
        static LOCAL: [Local; 2] = [const { Local::new() }; 2];
        let is_interrupt = SCB::vect_active() != VectActive::ThreadMode;
        Some(&LOCAL[usize::from(is_interrupt)])
    }
}

/// An interrupt that no device uses.
#[derive(Clone, Copy)]
struct Spare;

// SAFETY: the number of an interrupt of this processor, always the same.
unsafe impl InterruptNumber for Spare {
    fn number(self) -> u16 {
        31
    }
}

/// Milliseconds since the start.
pub fn now_ms() -> u32 {
    MILLISECONDS.load(Ordering::Relaxed)
}

/// Starts the timer, and the executor in an interrupt handler.
pub fn start() -> SendSpawner {
    if let Some(mut peripherals) = Peripherals::take() {
        let timer = &mut peripherals.SYST;
        timer.set_clock_source(SystClkSource::Core);
        timer.set_reload(CYCLES_PER_MS - 1);
        timer.clear_current();
        timer.enable_interrupt();
        timer.enable_counter();
    }
    INTERRUPTS.start(Spare)
}

#[exception]
fn SysTick() {
    let now = now_ms() + 1;
    MILLISECONDS.store(now, Ordering::Relaxed);
    if now <= WATCHED_MS {
        TICKS.iter().for_each(Tick::raise);
        if now.is_multiple_of(FRAME_EVERY_MS) {
            FRAMES.receive();
        }
    }
    if now == PRINTED_MS {
        account::print(FRAMES.count());
    }
}

#[exception]
unsafe fn DefaultHandler(_: i16) {
    // SAFETY: only the interrupt of `INTERRUPTS` is enabled, by the start of the executor.
    unsafe { INTERRUPTS.on_interrupt() }
}
