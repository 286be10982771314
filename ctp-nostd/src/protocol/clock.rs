//! The processor's counter as a clock: the recorder calibrates the counter against CLOCK_MONOTONIC,
//! and probes convert ticks to nanoseconds.
//!
//! ```text
//!   recorder                                probe
//!   M1 fence               (release)        I1 index -> i       (acquire, pairs with M3)
//!   M2 line[i+1 mod 2]     (relaxed)        I2 line[i mod 2]    (relaxed)
//!   M3 index = i + 1       (release)        I3 fence            (acquire, pairs with M1)
//!                                           I4 index still i?   (relaxed), else the slow clock
//! ```
//! I2 reads a line that is written again only after `index` has moved on. So if I2 sees a word of
//! the next write, then I4 sees the move. Neither side waits: a probe that loses the race asks the
//! kernel for the time.

use crate::memory::layout::Header;
use crate::sync::{AtomicU64, Ordering, fence};

/// A linear map from ticks to nanoseconds of CLOCK_MONOTONIC, valid from some moment on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Counter at that moment.
    pub ticks: u64,
    /// Time at that moment, nanoseconds of CLOCK_MONOTONIC.
    pub ns: u64,
    /// Nanoseconds per tick, times 2^64: less than 1 ns per tick. 0: no calibration.
    pub mult: u64,
}

impl Calibration {
    /// Converts a counter value to a time. Returns `None` for a value before the moment of the
    /// calibration, for example if the counter restarted while the machine slept.
    #[inline(always)]
    pub fn ns_at(&self, ticks: u64) -> Option<u64> {
        let since = u128::from(ticks.checked_sub(self.ticks)?);
        // The upper half of the product needs no shift.
        let ns = (since * u128::from(self.mult)) >> 64;
        Some(self.ns.wrapping_add(ns as u64))
    }
}

/// Recorder: publishes a new calibration.
pub fn publish(header: &Header, calibration: &Calibration) {
    let next = header.clock_index.load(Ordering::Relaxed).wrapping_add(1);
    fence(Ordering::Release); // M1, pairs with I3
    let [ticks, ns, mult, _] = line_of(header, next);
    ticks.store(calibration.ticks, Ordering::Relaxed); // M2
    ns.store(calibration.ns, Ordering::Relaxed);
    mult.store(calibration.mult, Ordering::Relaxed);
    header.clock_index.store(next, Ordering::Release); // M3, pairs with I1
}

/// Recorder: withdraws the calibration, because the counter is unreliable; probes ask the kernel.
pub fn withdraw(header: &Header) {
    publish(header, &Calibration::default());
}

/// Probe: returns the current calibration; `None` without one, or while the recorder replaces it.
#[inline(always)]
pub fn read(header: &Header) -> Option<Calibration> {
    if !HAS_COUNTER {
        return None;
    }
    let index = header.clock_index.load(Ordering::Acquire); // I1
    let [ticks, ns, mult, _] = line_of(header, index);
    let calibration = Calibration {
        ticks: ticks.load(Ordering::Relaxed), // I2
        ns: ns.load(Ordering::Relaxed),
        mult: mult.load(Ordering::Relaxed),
    };
    fence(Ordering::Acquire); // I3
    let is_whole = header.clock_index.load(Ordering::Relaxed) == index; // I4
    (is_whole && calibration.mult != 0).then_some(calibration)
}

/// The fourth word is spare.
#[inline(always)]
fn line_of(header: &Header, index: u32) -> &[AtomicU64; 4] {
    &header.clock_lines[index as usize % 2]
}

/// Whether this target has the counter. A program for another target may run in an emulator, under
/// a recorder that has a counter.
const HAS_COUNTER: bool = cfg!(any(target_arch = "x86_64", target_arch = "x86", loom));

/// Reads the counter. Only the recorder knows whether it runs at the same rate on all processors.
#[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(loom)))]
#[inline]
#[expect(unsafe_code, reason = "reads a register")]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86")]
    use core::arch::x86::_rdtsc;
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::_rdtsc;
    // SAFETY: every such processor since the Pentium has the instruction. A system that forbids it
    // to programs (PR_TSC_SIGSEGV) has no clock source of that name, so no calibration is
    // published.
    unsafe { _rdtsc() }
}

/// This target uses no counter.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "x86"), not(loom))))]
pub fn ticks() -> u64 {
    0
}
