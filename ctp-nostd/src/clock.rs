//! The processor's own counter as a clock: the recorder calibrates it against CLOCK_MONOTONIC,
//! probes convert. Both halves.
//!
//! ```text
//!   recorder                                probe
//!   C1 fence               (release)        D1 index -> i       (acquire, pairs with C3)
//!   C2 line[i+1 mod 2]     (relaxed)        D2 line[i mod 2]    (relaxed)
//!   C3 index = i + 1       (release)        D3 fence            (acquire, pairs with C1)
//!                                           D4 index still i?   (relaxed), else the slow clock
//! ```
//! The line that D2 reads is written again only after index has moved on, so if D2 sees a word
//! of that, then D4 sees the move. Nobody waits: a probe that loses the race asks the kernel.

use crate::layout::Header;
use crate::sync::{AtomicU64, Ordering, fence};

/// A straight line from ticks to nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Nanoseconds a tick, times 2^64: less than one. 0 is no line.
    pub mult: u64,
    /// The time at which the counter stood at 0, modulo 2^64.
    pub ns_at_zero: u64,
}

impl Calibration {
    /// The line of this slope that has this time at this count.
    pub fn through(ticks: u64, ns: u64, mult: u64) -> Self {
        let line = Calibration {
            mult,
            ns_at_zero: 0,
        };
        Calibration {
            ns_at_zero: ns.wrapping_sub(line.ns_at(ticks)),
            ..line
        }
    }

    /// The time at which the counter stands there.
    #[inline(always)]
    pub fn ns_at(&self, ticks: u64) -> u64 {
        let scaled = u128::from(ticks) * u128::from(self.mult);
        self.ns_at_zero.wrapping_add((scaled >> 64) as u64)
    }
}

/// Recorder: makes this the calibration from now on.
pub fn publish(header: &Header, calibration: &Calibration) {
    let next = header.clock_index.load(Ordering::Relaxed).wrapping_add(1);
    fence(Ordering::Release); // C1, pairs with D3
    let [mult, ns_at_zero] = line_of(header, next);
    mult.store(calibration.mult, Ordering::Relaxed); // C2
    ns_at_zero.store(calibration.ns_at_zero, Ordering::Relaxed);
    header.clock_index.store(next, Ordering::Release); // C3, pairs with D1
}

/// Recorder: the counter is not to be trusted any more; probes ask the kernel.
pub fn withdraw(header: &Header) {
    publish(header, &Calibration::default());
}

/// Probe: the present calibration, unless there is none or it changes just now.
#[inline(always)]
pub fn read(header: &Header) -> Option<Calibration> {
    if !HAS_COUNTER {
        return None;
    }
    let index = header.clock_index.load(Ordering::Acquire); // D1
    let [mult, ns_at_zero] = line_of(header, index);
    let calibration = Calibration {
        mult: mult.load(Ordering::Relaxed), // D2
        ns_at_zero: ns_at_zero.load(Ordering::Relaxed),
    };
    fence(Ordering::Acquire); // D3
    let is_whole = header.clock_index.load(Ordering::Relaxed) == index; // D4
    (is_whole && calibration.mult != 0).then_some(calibration)
}

#[inline(always)]
fn line_of(header: &Header, index: u32) -> &[AtomicU64; 2] {
    &header.clock_lines[index as usize % 2]
}

/// A program for another processor may run under a recorder that has a counter (in an emulator).
const HAS_COUNTER: bool = cfg!(any(target_arch = "x86_64", target_arch = "x86", loom));

/// The counter. Only the recorder knows whether it runs at one rate on all processors.
#[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(loom)))]
#[inline]
#[expect(unsafe_code, reason = "reads a register")]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86")]
    use core::arch::x86::_rdtsc;
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::_rdtsc;
    // SAFETY: every such processor since the Pentium has the instruction; a system that forbids it
    // to programs (PR_TSC_SIGSEGV) has no clock source of that name, so that nothing is published.
    unsafe { _rdtsc() }
}

/// There is none that is used here.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "x86"), not(loom))))]
pub fn ticks() -> u64 {
    0
}
