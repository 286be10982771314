//! The time: from the processor's counter as the recorder calibrated it, or else from the kernel.

use rustix::time::{ClockId, clock_gettime};

use crate::memory::layout::Header;
use crate::protocol::clock;

/// Uses the processor's counter if there is a calibration, or else the kernel.
#[inline]
pub(super) fn now_ns(header: Option<&Header>) -> u64 {
    header
        .and_then(counted_ns)
        .unwrap_or_else(|| fallback_ns(header))
}

/// Attempts to read a calibration that the recorder may just be replacing.
const ATTEMPTS: usize = 2;

/// Slow path: there is no calibration, or the recorder is replacing it. In a time namespace, the
/// kernel's time differs from the recorder's. So a calibration that is being replaced is read again
/// before the kernel is asked.
#[cold]
fn fallback_ns(header: Option<&Header>) -> u64 {
    let again = (0..ATTEMPTS).find_map(|_| header.and_then(counted_ns));
    again.unwrap_or_else(kernel_ns)
}

/// The time by the processor's counter. `None` without a calibration, or while the calibration is
/// being replaced.
#[inline(always)]
pub(super) fn counted_ns(header: &Header) -> Option<u64> {
    clock::read(header)?.ns_at(clock::ticks())
}

/// CLOCK_MONOTONIC by way of the vDSO.
pub(super) fn kernel_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    extern crate std;

    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use crate::protocol::clock::Calibration;

    use super::*;

    /// Far beyond any clock of the kernel.
    const FAR_NS: u64 = 1 << 62;

    // CTP-26
    #[test]
    fn replaced_calibration_is_read_again() {
        let (header, is_over) = (Header::default(), AtomicBool::new(false));
        let publish = || {
            let calibration = Calibration {
                ticks: clock::ticks() - 1_000_000,
                ns: FAR_NS,
                mult: 1 << 62,
            };
            clock::publish(&header, &calibration);
        };
        publish();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    publish();
                    thread::sleep(Duration::from_micros(1));
                }
            });
            let is_counted = (0..2_000_000).all(|_| FAR_NS <= now_ns(Some(&header)));
            is_over.store(true, Ordering::Relaxed);
            assert!(is_counted, "the kernel was asked");
        });
    }
}
