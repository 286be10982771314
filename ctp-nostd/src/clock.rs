//! The processor's own counter as a clock: the recorder calibrates it against CLOCK_MONOTONIC,
//! probes convert. Both halves.
//!
//! ```text
//!   recorder                                probe
//!   C1 fence               (release)        D1 index -> i       (acquire, pairs with C3)
//!   C2 copy[i+1 mod 2]     (relaxed)        D2 copy[i mod 2]    (relaxed)
//!   C3 index = i + 1       (release)        D3 fence            (acquire, pairs with C1)
//!                                           D4 index still i?   (relaxed), else the slow clock
//! ```
//! The copy that D2 reads is written again only after index has moved on, so if D2 sees a word
//! of that, then D4 sees the move. Nobody waits: a probe that loses the race asks the kernel.

use crate::layout::Header;
use crate::sync::{AtomicU64, Ordering, fence};

/// A straight line from ticks to nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Counter at some moment.
    pub ticks: u64,
    /// Time at that moment.
    pub ns: u64,
    /// Nanoseconds a tick, times 2^32.
    pub mult: u64,
}

impl Calibration {
    /// The time at which the counter stands there; never before the line's own moment.
    #[inline]
    pub fn ns_at(&self, ticks: u64) -> u64 {
        let since = ticks.saturating_sub(self.ticks);
        let scaled = u128::from(since) * u128::from(self.mult);
        // In two steps, because on many processors one shift of both halves takes longer.
        let (high, low) = ((scaled >> 64) as u64, scaled as u64);
        let ns = self.ns.wrapping_add(low >> 32);
        ns.wrapping_add(high << 32)
    }
}

/// Recorder: makes this the calibration from now on.
pub fn publish(header: &Header, calibration: &Calibration) {
    let next = header.clock_index.load(Ordering::Relaxed).wrapping_add(1);
    fence(Ordering::Release); // C1, pairs with D3
    let copy = copy_of(header, next);
    copy[0].store(calibration.ticks, Ordering::Relaxed); // C2
    copy[1].store(calibration.ns, Ordering::Relaxed);
    copy[2].store(calibration.mult, Ordering::Relaxed);
    header.clock_index.store(next, Ordering::Release); // C3, pairs with D1
    header.clock_valid.store(1, Ordering::Release);
}

/// Recorder: the counter is not to be trusted any more; probes ask the kernel.
pub fn withdraw(header: &Header) {
    header.clock_valid.store(0, Ordering::Release);
}

/// Probe: the present calibration, unless there is none or it changes just now.
#[inline]
pub fn read(header: &Header) -> Option<Calibration> {
    if !HAS_COUNTER || header.clock_valid.load(Ordering::Acquire) == 0 {
        return None;
    }
    let index = header.clock_index.load(Ordering::Acquire); // D1
    let copy = copy_of(header, index);
    let calibration = Calibration {
        ticks: copy[0].load(Ordering::Relaxed), // D2
        ns: copy[1].load(Ordering::Relaxed),
        mult: copy[2].load(Ordering::Relaxed),
    };
    fence(Ordering::Acquire); // D3
    (header.clock_index.load(Ordering::Relaxed) == index).then_some(calibration) // D4
}

#[inline]
fn copy_of(header: &Header, index: u32) -> &[AtomicU64; 3] {
    match index % 2 {
        0 => &header.clock_a,
        _ => &header.clock_b,
    }
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
