//! Calibrates the processor's counter against CLOCK_MONOTONIC, so that a probe need not ask the kernel.
//!
//! The counter is used only if the kernel itself keeps time with it and it counts more than once a
//! nanosecond. A line maps ticks to nanoseconds. The first line is drawn before the program starts, so that
//! its probes use one clock from their first event on: in another time namespace, the program's kernel clock
//! differs from the recorder's. If no line is precise enough soon, probes ask the kernel until a line is.
//! From then on the line is continuous: each new line begins on the line before, and only the slope is
//! corrected. If the line is nevertheless wrong by more than a millisecond (after a suspend of the machine or
//! the migration of a guest), it is withdrawn.

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
    /// The present line; `None` before the first line.
    now: Option<Calibration>,
    checked: Instant,
    pause: Duration,
}

/// What to do with the calibration in the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalibrationChange {
    None,
    Replace(Calibration),
    Withdraw,
}

/// Minimum distance of the two readings that define the first line.
const MIN_BASE: Duration = Duration::from_millis(2);
/// Attempts to draw the first line before a program starts, and the pause after each attempt.
const ATTEMPTS: u32 = 20;
const ATTEMPT_EVERY: Duration = Duration::from_micros(200);
/// Pause before the second line. The pause doubles with each line, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Beyond this error the counter is no longer trusted.
const MAX_ERROR_NS: i64 = 1_000_000;
/// The two readings of the first line together take at most the line's length divided by this.
const PRECISION: u64 = 10_000;

impl Calibrator {
    /// Begins to measure. The first line takes a while.
    pub fn start() -> Self {
        Calibrator {
            first: measure(),
            now: None,
            checked: Instant::now(),
            pause: MIN_BASE,
        }
    }

    /// Publishes the line in the header of a further memory.
    pub fn publish(&self, header: &Header) {
        if let Some(now) = &self.now {
            clock::publish(header, now);
        }
    }

    /// Draws the first line as soon as it is precise enough. Gives up if that takes too long or there is no
    /// usable counter; `keep_right` may still draw the line later.
    pub fn draw_first<'h>(&mut self, headers: impl Iterator<Item = &'h Header>) {
        if is_source() != Some(true) || !is_invariant() {
            return;
        }
        sleep(MIN_BASE.saturating_sub(self.checked.elapsed()));
        for _ in 0..ATTEMPTS {
            let moment = measure();
            if self.is_precise(moment) {
                self.now = self.first_line(moment);
                (self.checked, self.pause) = (Instant::now(), FIRST_PAUSE);
                return headers.for_each(|header| self.publish(header));
            }
            sleep(ATTEMPT_EVERY);
        }
    }

    /// Draws the first line or corrects the slope, when due. Returns false if the counter is not used any
    /// more, or never was.
    pub fn keep_right<'h>(&mut self, headers: impl Iterator<Item = &'h Header>) -> bool {
        if self.checked.elapsed() < self.pause {
            return true;
        }
        self.checked = Instant::now();
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, MAX_PAUSE);
        match self.due_change(measure(), is_source()) {
            CalibrationChange::None => true,
            CalibrationChange::Replace(next) => {
                self.now = Some(next);
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
    fn due_change(&self, moment: ClockReading, is_source: Option<bool>) -> CalibrationChange {
        let next = match (self.now, is_source) {
            (_, Some(false)) => None,
            // The counter is used as before if the kernel cannot be asked: it is still right to a millisecond.
            (Some(now), _) => self.next(now, moment),
            (None, None) => return CalibrationChange::None,
            (None, _) if !is_invariant() => None,
            // The machine was busy. A longer line will be more precise.
            (None, _) if !self.is_precise(moment) => return CalibrationChange::None,
            (None, _) => self.first_line(moment),
        };
        next.map_or(CalibrationChange::Withdraw, CalibrationChange::Replace)
    }

    fn is_precise(&self, moment: ClockReading) -> bool {
        let width = self.first.width.saturating_add(moment.width);
        let length = moment.ticks.saturating_sub(self.first.ticks);
        width <= length / PRECISION
    }

    fn first_line(&self, moment: ClockReading) -> Option<Calibration> {
        Some(Calibration {
            ticks: moment.ticks,
            ns: moment.ns,
            mult: slope(self.first, moment)?,
        })
    }

    /// A line that begins on the present line and meets the true time after the longest pause. If it met the
    /// true time sooner and the next correction came late on a busy machine, it would be far off by then.
    fn next(&self, now: Calibration, moment: ClockReading) -> Option<Calibration> {
        let shown = now.ns_at(moment.ticks)?;
        let behind = moment.ns.wrapping_sub(shown).cast_signed();
        if behind.abs() > MAX_ERROR_NS {
            return None;
        }
        let mult = slope(self.first, moment)?;
        let correction = i128::from(mult) * i128::from(behind) / MAX_PAUSE.as_nanos() as i128;
        Some(Calibration {
            ticks: moment.ticks,
            ns: shown,
            mult: u64::try_from(i128::from(mult) + correction).ok()?,
        })
    }
}

/// Nanoseconds per tick, times 2^64; `None` for a counter slower than one tick per nanosecond.
fn slope(from: ClockReading, to: ClockReading) -> Option<u64> {
    let ticks = u128::from(to.ticks.checked_sub(from.ticks)?);
    let ns = u128::from(to.ns.checked_sub(from.ns)?);
    u64::try_from((ns << 64).checked_div(ticks)?).ok()
}

/// Reads the time several times, each between two readings of the counter. Returns the narrowest reading,
/// with the earlier of its two counter values. So a line through it is never behind the kernel's clock, and
/// time does not go back for a probe that changes over to the line.
fn measure() -> ClockReading {
    let tightest = (0..8)
        .map(|_| {
            let before = clock::ticks();
            let at = Instant::now();
            let after = clock::ticks();
            ClockReading {
                ticks: before,
                ns: ns_of(at),
                width: after.wrapping_sub(before),
            }
        })
        .min_by_key(|pair| pair.width);
    tightest.expect("there are eight readings")
}

/// CLOCK_MONOTONIC at this instant, computed without a system call in debug builds, too. Never behind that
/// clock, and ahead of it by at most the time of one reading.
fn ns_of(at: Instant) -> u64 {
    static BOTH: OnceLock<(Instant, u64)> = OnceLock::new();
    let (instant, ns) = BOTH.get_or_init(|| {
        let tightest = (0..8)
            .map(|_| {
                let before = Instant::now();
                let ns = monotonic_ns();
                (before.elapsed(), (before, ns))
            })
            .min_by_key(|(width, _)| *width);
        tightest.expect("there are eight readings").1
    });
    // The very first instant may be earlier than the reading of both clocks.
    match at.checked_duration_since(*instant) {
        Some(since) => ns + since.as_nanos() as u64,
        None => ns - instant.duration_since(at).as_nanos() as u64,
    }
}

/// Whether the kernel keeps time with the counter. `None` if no descriptor is left to read this.
fn is_source() -> Option<bool> {
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

    fn shown(line: &Calibration, ticks: u64) -> u64 {
        line.ns_at(ticks)
            .expect("a tick that is not before the line")
    }

    fn calibrator() -> Calibrator {
        Calibrator {
            first: at(0, 0),
            now: Some(NOW),
            checked: Instant::now(),
            pause: MAX_PAUSE,
        }
    }

    // CTP-26
    #[test]
    fn corrected_line_is_continuous_and_meets_true_time() {
        let calibrator = calibrator();
        // After a second by the counter, the kernel's clock is 10 µs ahead.
        let moment = at(2_000_002_000, 1_000_011_000);
        let next = calibrator
            .next(NOW, moment)
            .expect("10 us are no reason to distrust the line");
        assert_eq!(next.ns_at(moment.ticks), NOW.ns_at(moment.ticks));
        let later = at(moment.ticks + 2_000_000_000, 0);
        let true_then = moment.ns + 1_000_010_000;
        assert!(
            shown(&next, later.ticks).abs_diff(true_then) < 100,
            "{next:?}"
        );
    }

    // CTP-26
    #[test]
    fn line_is_still_right_when_the_next_correction_is_late() {
        let mut calibrator = calibrator();
        (calibrator.first, calibrator.pause) = (at(0, 50_000), FIRST_PAUSE);
        let moment = at(40_002_000, 20_051_000);
        let next = calibrator.next(NOW, moment).expect("50 us are few");
        let late = at(moment.ticks + 10_000_000_000, moment.ns + 5_000_000_000);
        assert!(shown(&next, late.ticks).abs_diff(late.ns) < MAX_ERROR_NS as u64);
    }

    // CTP-26
    #[test]
    fn first_line_is_longer_if_the_readings_are_less_precise() {
        let calibrator = calibrator();
        assert!(!calibrator.is_precise(at(1_999_999, 0)));
        assert!(calibrator.is_precise(at(2_000_000, 0)));
    }

    // CTP-26
    #[test]
    fn line_is_undefined_before_the_first_tick() {
        assert_eq!((NOW.ns_at(1_999), NOW.ns_at(2_000)), (None, Some(1_000)));
        assert_eq!(
            calibrator().next(NOW, at(7, 2_000)),
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
        let moment = at(2_000_002_000, 1_000_011_000);
        let corrected = calibrator().next(NOW, moment).expect("10 us are few");
        let change = calibrator().due_change(moment, no_descriptor);
        assert_eq!(change, CalibrationChange::Replace(corrected));
        let change = calibrator().due_change(moment, Some(false));
        assert_eq!(change, CalibrationChange::Withdraw);
        let uncalibrated = Calibrator {
            now: None,
            ..calibrator()
        };
        let change = uncalibrated.due_change(moment, no_descriptor);
        assert_eq!(change, CalibrationChange::None);
    }

    // CTP-26
    #[test]
    fn counter_that_is_off_by_a_millisecond_is_withdrawn() {
        assert_eq!(
            calibrator().next(NOW, at(2_000_002_000, 1_002_000_000)),
            None
        );
        assert_eq!(calibrator().next(NOW, at(2_000_002_000, 998_000_000)), None);
    }
}
