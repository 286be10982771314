//! Calibrates the processor's counter against CLOCK_MONOTONIC, so that a probe need not ask the kernel.
//!
//! The counter is used only if the kernel itself keeps time with it and it counts more than once a nanosecond. A
//! calibration maps ticks to nanoseconds. The first calibration is published before the program starts, so that its
//! probes use one clock from their first event on: in another time namespace, the program's kernel clock differs from
//! the recorder's. If no calibration is precise enough by then, probes ask the kernel until one is.
//!
//! Each later calibration starts where the one before is at that moment, and changes only the slope. A calibration that
//! is wrong by more than a millisecond (after a suspend of the machine or the migration of a guest) is withdrawn.

use std::fs;
use std::io;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ctp_nostd::clock::{self, Calibration};
use ctp_nostd::layout::Header;

use crate::connect::rendezvous::is_no_descriptor_left;
use crate::memory::clock::monotonic_ns;
use crate::proc::system;

/// The counter and the time at one moment.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    ticks: u64,
    ns: u64,
    /// The number of ticks that reading both took.
    width: u64,
}

/// Keeps the calibration in the headers of memories correct.
#[derive(Debug)]
pub struct Calibrator {
    first: ClockReading,
    /// The present calibration; `None` before the first.
    current: Option<Calibration>,
    /// When the calibration was last checked.
    checked_at: Instant,
    /// The time until the next check.
    pause: Duration,
}

/// What to do with the calibration in the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalibrationChange {
    None,
    Replace(Calibration),
    Withdraw,
}

/// Minimum distance of the two readings that define the first calibration.
const MIN_BASE: Duration = Duration::from_millis(2);
/// Maximum number of attempts at the first calibration before a program starts.
const ATTEMPTS: u32 = 20;
/// Pause after each attempt.
const ATTEMPT_PAUSE: Duration = Duration::from_micros(200);
/// Pause before the second calibration. The pause doubles with each check.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Beyond this error the counter is no longer trusted.
const MAX_ERROR_NS: i64 = 1_000_000;
/// The two readings of the first calibration may take at most this fraction (1/10 000) of the ticks between them.
const PRECISION: u64 = 10_000;

impl Calibrator {
    /// Takes the first reading. [`publish_first`](Self::publish_first) takes the second, at least `MIN_BASE` later.
    pub fn start() -> Self {
        Calibrator {
            first: measure(),
            current: None,
            checked_at: Instant::now(),
            pause: MIN_BASE,
        }
    }

    /// Publishes the calibration in the header of a memory that was created later.
    pub fn publish(&self, header: &Header) {
        if let Some(current) = &self.current {
            clock::publish(header, current);
        }
    }

    /// Publishes the first calibration as soon as it is precise enough. Gives up after about 6 ms, or if the counter is
    /// not usable. [`update_if_due`](Self::update_if_due) may still publish a calibration later.
    pub fn publish_first<'h>(&mut self, headers: impl Iterator<Item = &'h Header>) {
        if is_clock_source() != Some(true) || !is_invariant() {
            return;
        }
        sleep(MIN_BASE.saturating_sub(self.checked_at.elapsed()));
        for _ in 0..ATTEMPTS {
            let reading = measure();
            if self.is_precise(reading) {
                self.current = self.first_calibration(reading);
                (self.checked_at, self.pause) = (Instant::now(), FIRST_PAUSE);
                return headers.for_each(|header| self.publish(header));
            }
            sleep(ATTEMPT_PAUSE);
        }
    }

    /// Publishes the first calibration or corrects the slope, when due. Returns false if the counter is not used any
    /// more, or never was.
    pub fn update_if_due<'h>(&mut self, headers: impl Iterator<Item = &'h Header>) -> bool {
        if self.checked_at.elapsed() < self.pause {
            return true;
        }
        self.checked_at = Instant::now();
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, MAX_PAUSE);
        match self.due_change(measure(), is_clock_source()) {
            CalibrationChange::None => true,
            CalibrationChange::Replace(next) => {
                self.current = Some(next);
                headers.for_each(|header| self.publish(header));
                true
            }
            CalibrationChange::Withdraw => {
                headers.for_each(clock::withdraw);
                false
            }
        }
    }

    /// What to do after this reading. `is_source` says whether the kernel keeps time with the counter, if known.
    fn due_change(&self, reading: ClockReading, is_source: Option<bool>) -> CalibrationChange {
        let next = match (self.current, is_source) {
            (_, Some(false)) => None,
            // The counter is used as before if the kernel cannot be asked: it is still right to a millisecond.
            (Some(current), _) => self.corrected_calibration(current, reading),
            (None, None) => return CalibrationChange::None,
            (None, _) if !is_invariant() => None,
            // The machine was busy. A later reading will be more precise.
            (None, _) if !self.is_precise(reading) => return CalibrationChange::None,
            (None, _) => self.first_calibration(reading),
        };
        next.map_or(CalibrationChange::Withdraw, CalibrationChange::Replace)
    }

    /// Whether this reading and the first are so short, and so far apart, that they define a calibration.
    fn is_precise(&self, reading: ClockReading) -> bool {
        let width = self.first.width.saturating_add(reading.width);
        let length = reading.ticks.saturating_sub(self.first.ticks);
        width <= length / PRECISION
    }

    fn first_calibration(&self, reading: ClockReading) -> Option<Calibration> {
        Some(Calibration {
            ticks: reading.ticks,
            ns: reading.ns,
            mult: slope(self.first, reading)?,
        })
    }

    /// A calibration that starts where the current one is at this moment, and meets the true time after the longest
    /// pause. A steeper correction would overshoot if the next check came late on a busy machine.
    fn corrected_calibration(
        &self,
        current: Calibration,
        reading: ClockReading,
    ) -> Option<Calibration> {
        let shown = current.ns_at(reading.ticks)?;
        let behind = reading.ns.wrapping_sub(shown).cast_signed();
        if behind.abs() > MAX_ERROR_NS {
            return None;
        }
        let mult = slope(self.first, reading)?;
        let correction = i128::from(mult) * i128::from(behind) / MAX_PAUSE.as_nanos() as i128;
        Some(Calibration {
            ticks: reading.ticks,
            ns: shown,
            mult: u64::try_from(i128::from(mult) + correction).ok()?,
        })
    }
}

/// Nanoseconds per tick, times 2^64. `None` unless the counter ticked more than once per nanosecond, and neither counter
/// nor clock went back.
fn slope(from: ClockReading, to: ClockReading) -> Option<u64> {
    let ticks = u128::from(to.ticks.checked_sub(from.ticks)?);
    let ns = u128::from(to.ns.checked_sub(from.ns)?);
    u64::try_from((ns << 64).checked_div(ticks)?).ok()
}

/// Reads the time several times, each between two readings of the counter. Returns the narrowest reading, with the
/// earlier of its two counter values. So the calibration is not behind the kernel's clock at that moment, and time does
/// not go back for a probe that switches to it.
fn measure() -> ClockReading {
    narrowest(
        || {
            let before = clock::ticks();
            let at = Instant::now();
            let after = clock::ticks();
            ClockReading {
                ticks: before,
                ns: ns_of(at),
                width: after.wrapping_sub(before),
            }
        },
        |reading| reading.width,
    )
}

/// The narrowest of eight readings.
fn narrowest<T, W: Ord>(read: impl Fn() -> T, width: impl Fn(&T) -> W) -> T {
    let mut best = read();
    for _ in 1..8 {
        let next = read();
        if width(&next) < width(&best) {
            best = next;
        }
    }
    best
}

/// CLOCK_MONOTONIC at this instant. Converts the `Instant`, whose clock needs no system call even in debug builds. Never
/// behind the kernel's clock, and ahead of it by at most the time of one reading.
fn ns_of(at: Instant) -> u64 {
    static REFERENCE: OnceLock<(Instant, u64)> = OnceLock::new();
    let (instant, ns) = REFERENCE.get_or_init(|| {
        let (_, instant, ns) = narrowest(
            || {
                let before = Instant::now();
                let ns = monotonic_ns();
                (before.elapsed(), before, ns)
            },
            |(width, ..)| *width,
        );
        (instant, ns)
    });
    // `at` of the first call was taken before the reference.
    match at.checked_duration_since(*instant) {
        Some(since) => ns + since.as_nanos() as u64,
        None => ns - instant.duration_since(at).as_nanos() as u64,
    }
}

/// Whether the kernel keeps time with the counter. `None` if no descriptor is left to read this.
fn is_clock_source() -> Option<bool> {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    is_counter(fs::read_to_string(source))
}

/// Whether the name of the clock source is that of the counter. `None` if no descriptor was left to read the name.
fn is_counter(name: io::Result<String>) -> Option<bool> {
    match name {
        Ok(name) => Some(name.trim() == "tsc"),
        Err(error) if is_no_descriptor_left(&error) => None,
        // The kernel has no such file, or hides it.
        Err(_) => Some(false),
    }
}

/// Whether the counter runs at one rate in all states of the processors. Reads the first processor's flags.
fn is_invariant() -> bool {
    let text = system::first_processor();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.contains(" constant_tsc") && line.contains(" nonstop_tsc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64, ns: u64) -> ClockReading {
        ClockReading {
            ticks,
            ns,
            width: 100,
        }
    }

    /// Two ticks a nanosecond.
    const NOW: Calibration = Calibration {
        ticks: 2_000,
        ns: 1_000,
        mult: 1 << 63,
    };

    fn shown(calibration: &Calibration, ticks: u64) -> u64 {
        calibration
            .ns_at(ticks)
            .expect("a tick that is not before the calibration")
    }

    fn calibrator() -> Calibrator {
        Calibrator {
            first: at(0, 0),
            current: Some(NOW),
            checked_at: Instant::now(),
            pause: MAX_PAUSE,
        }
    }

    // CTP-26
    #[test]
    fn corrected_calibration_is_continuous_and_meets_true_time() {
        let calibrator = calibrator();
        // After a second by the counter, the kernel's clock is 10 µs ahead.
        let reading = at(2_000_002_000, 1_000_011_000);
        let next = calibrator
            .corrected_calibration(NOW, reading)
            .expect("10 us are no reason for distrust");
        assert_eq!(next.ns_at(reading.ticks), NOW.ns_at(reading.ticks));
        let later = at(reading.ticks + 2_000_000_000, 0);
        let true_then = reading.ns + 1_000_010_000;
        assert!(
            shown(&next, later.ticks).abs_diff(true_then) < 100,
            "{next:?}"
        );
    }

    // CTP-26
    #[test]
    fn calibration_is_still_right_when_the_next_correction_is_late() {
        let mut calibrator = calibrator();
        (calibrator.first, calibrator.pause) = (at(0, 50_000), FIRST_PAUSE);
        let reading = at(40_002_000, 20_051_000);
        let next = calibrator
            .corrected_calibration(NOW, reading)
            .expect("50 us are few");
        let late = at(reading.ticks + 10_000_000_000, reading.ns + 5_000_000_000);
        assert!(shown(&next, late.ticks).abs_diff(late.ns) < MAX_ERROR_NS as u64);
    }

    // CTP-26
    #[test]
    fn imprecise_readings_need_a_longer_distance() {
        let calibrator = calibrator();
        assert!(!calibrator.is_precise(at(1_999_999, 0)));
        assert!(calibrator.is_precise(at(2_000_000, 0)));
    }

    // CTP-26
    #[test]
    fn calibration_is_undefined_before_the_first_tick() {
        assert_eq!((NOW.ns_at(1_999), NOW.ns_at(2_000)), (None, Some(1_000)));
        assert_eq!(
            calibrator().corrected_calibration(NOW, at(7, 2_000)),
            None,
            "the counter was reset"
        );
    }

    // CTP-26
    #[test]
    fn counter_is_used_until_the_kernel_names_another_clock() {
        let no_descriptor = is_counter(Err(rustix::io::Errno::MFILE.into()));
        assert_eq!(is_counter(Ok("tsc\n".to_owned())), Some(true));
        assert_eq!(is_counter(Ok("hpet\n".to_owned())), Some(false));
        let no_file = io::ErrorKind::NotFound.into();
        assert_eq!(is_counter(Err(no_file)), Some(false));
        assert_eq!(no_descriptor, None);
        let reading = at(2_000_002_000, 1_000_011_000);
        let corrected = calibrator()
            .corrected_calibration(NOW, reading)
            .expect("10 us are few");
        let change = calibrator().due_change(reading, no_descriptor);
        assert_eq!(change, CalibrationChange::Replace(corrected));
        let change = calibrator().due_change(reading, Some(false));
        assert_eq!(change, CalibrationChange::Withdraw);
        let uncalibrated = Calibrator {
            current: None,
            ..calibrator()
        };
        let change = uncalibrated.due_change(reading, no_descriptor);
        assert_eq!(change, CalibrationChange::None);
    }

    // CTP-26
    #[test]
    fn counter_that_is_off_by_a_millisecond_is_withdrawn() {
        assert_eq!(
            calibrator().corrected_calibration(NOW, at(2_000_002_000, 1_002_000_000)),
            None
        );
        assert_eq!(
            calibrator().corrected_calibration(NOW, at(2_000_002_000, 998_000_000)),
            None
        );
    }
}
