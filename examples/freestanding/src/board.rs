//! The board: a running timer, and the platform of the probe.

use core::sync::atomic::{AtomicU64, Ordering};

use ctp_nostd::{Local, Platform};

/// One tick of the 8 MHz timer.
const TICK_NS: u64 = 125;

/// Ticks since reset. The tasks start after 3 ms.
static TICKS: AtomicU64 = AtomicU64::new(ms(3));

/// What the probe remembers of the only core.
static LOCAL: Local = Local::new();

/// The place that the probe runs in.
#[derive(Debug)]
pub struct Board;

// SAFETY: the board has one core, and no other platform has its `Local`.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        ns(now())
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {
        // No thread to wake: the memory is read afterwards.
    }

    unsafe fn local() -> Option<&'static Local> {
        Some(&LOCAL)
    }
}

/// Milliseconds in ticks.
pub const fn ms(milliseconds: u64) -> u64 {
    milliseconds * 1_000_000 / TICK_NS
}

/// Microseconds in ticks.
pub const fn us(microseconds: u64) -> u64 {
    microseconds * 1_000 / TICK_NS
}

/// Ticks in nanoseconds.
pub const fn ns(ticks: u64) -> u64 {
    ticks * TICK_NS
}

/// Ticks since reset.
pub fn now() -> u64 {
    TICKS.load(Ordering::Relaxed)
}

/// Sets the timer to `tick`. A real timer advances by itself.
pub fn set(tick: u64) {
    TICKS.store(tick, Ordering::Relaxed);
}
