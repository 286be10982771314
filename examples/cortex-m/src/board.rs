//! The board: a timer that interrupts every millisecond, and the platform of the probe.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::Peripherals;
use cortex_m::peripheral::scb::VectActive;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
use cortex_m_rt::exception;
use ctp_nostd::{Local, Platform};

use crate::signal::{FRAMES, TIMER};

/// The processor's clock.
const CYCLES_PER_MS: u32 = 25_000;
const NS_PER_CYCLE: u32 = 1_000_000 / CYCLES_PER_MS;

/// A frame is received this often.
const FRAME_EVERY_MS: u32 = 5;

static MILLISECONDS: AtomicU32 = AtomicU32::new(0);

/// The platform of the probe.
#[derive(Debug)]
pub struct Board;

// SAFETY: the board has one core. Tasks and interrupt handlers each have a `Local` of their own, and
// there is a single level of interrupts. No other platform returns them.
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
        // No recorder sleeps: the memory is read from a dump.
    }

    unsafe fn local() -> Option<&'static Local> {
        static LOCAL: [Local; 2] = [const { Local::new() }; 2];
        let is_interrupt = SCB::vect_active() != VectActive::ThreadMode;
        Some(&LOCAL[usize::from(is_interrupt)])
    }
}

/// Milliseconds since the start.
pub fn now_ms() -> u32 {
    MILLISECONDS.load(Ordering::Relaxed)
}

/// Starts the timer.
pub fn start_timer() {
    let Some(mut peripherals) = Peripherals::take() else {
        return;
    };
    let timer = &mut peripherals.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(CYCLES_PER_MS - 1);
    timer.clear_current();
    timer.enable_interrupt();
    timer.enable_counter();
}

#[exception]
fn SysTick() {
    let now = now_ms() + 1;
    MILLISECONDS.store(now, Ordering::Relaxed);
    TIMER.raise();
    if now.is_multiple_of(FRAME_EVERY_MS) {
        FRAMES.raise();
    }
}
