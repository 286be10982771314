//! The processor's counter against CLOCK_MONOTONIC, so that a probe need not ask the kernel.
//!
//! Used only where the kernel itself trusts it, and it counts more than once a nanosecond. The first
//! line is drawn before the program starts, so that its probes have one clock from their first event
//! on: where the program is in another time namespace, the kernel's is not ours. Where no line is precise
//! soon, probes ask the kernel until one is. The line that they
//! follow from then on is never broken: each new one begins where the old one is, and only its slope
//! is corrected. When it has gone wrong by a millisecond all the same (a suspended machine, a migrated
//! guest), it is withdrawn.

use std::fs;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ctp_nostd::clock::{self, Calibration};
use ctp_nostd::layout::Header;

use crate::memory::clock::monotonic_ns;
use crate::proc::system;

/// The counter and the time at one moment.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    ns: u64,
    /// So many ticks it took to read both.
    width: u64,
}

/// Keeps a header's calibration right.
#[derive(Debug)]
pub struct Calibrator {
    first: Pair,
    /// Nothing before the first line.
    now: Option<Calibration>,
    looked: Instant,
    pause: Duration,
}

/// The first line is drawn through moments at least so far apart.
const BASE: Duration = Duration::from_millis(2);
/// So often it is tried before a program starts, each time after such a pause.
const ATTEMPTS: u32 = 20;
const ATTEMPT_EVERY: Duration = Duration::from_micros(200);
/// The second comes so soon, each later one after twice the time, up to the longest.
const SOON: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);
/// Beyond this the counter is not trusted any more.
const WORST_NS: i64 = 1_000_000;
/// What it took to read both ends of the first line is no more than this part of it.
const PRECISION: u64 = 10_000;

impl Calibrator {
    /// Begins to measure. The first line takes a while.
    pub fn start() -> Self {
        Calibrator {
            first: measure(),
            now: None,
            looked: Instant::now(),
            pause: BASE,
        }
    }

    /// For one more memory.
    pub fn publish(&self, header: &Header) {
        if let Some(now) = &self.now {
            clock::publish(header, now);
        }
    }

    /// Draws the first line as soon as it is precise, unless that takes too long or there is no counter
    /// to be used. It can be drawn later, too.
    pub fn draw_first<'h>(&mut self, headers: impl Iterator<Item = &'h Header>) {
        if !is_source() || !is_invariant() {
            return;
        }
        sleep(BASE.saturating_sub(self.looked.elapsed()));
        for _ in 0..ATTEMPTS {
            let moment = measure();
            if self.is_precise(moment) {
                self.now = self.first_line(moment);
                (self.looked, self.pause) = (Instant::now(), SOON);
                return headers.for_each(|header| self.publish(header));
            }
            sleep(ATTEMPT_EVERY);
        }
    }

    /// Draws the first line or corrects the slope, when it is time to. False if the counter is not
    /// to be used any more, or never was.
    pub fn keep_right<'h>(&mut self, headers: impl Iterator<Item = &'h Header>) -> bool {
        if self.looked.elapsed() < self.pause {
            return true;
        }
        self.looked = Instant::now();
        self.pause = (self.pause * 2).clamp(SOON, LONGEST);
        let moment = measure();
        let next = match self.now {
            None if !is_invariant() => None,
            // The machine was busy. A longer line is more precise.
            None if !self.is_precise(moment) => return true,
            None => self.first_line(moment),
            Some(now) => self.next(now, moment),
        };
        match next {
            Some(next) if is_source() => {
                self.now = Some(next);
                headers.for_each(|header| self.publish(header));
                true
            }
            _ => {
                headers.for_each(clock::withdraw);
                false
            }
        }
    }

    fn is_precise(&self, moment: Pair) -> bool {
        let width = self.first.width.saturating_add(moment.width);
        let length = moment.ticks.saturating_sub(self.first.ticks);
        width <= length / PRECISION
    }

    fn first_line(&self, moment: Pair) -> Option<Calibration> {
        Some(Calibration {
            ticks: moment.ticks,
            ns: moment.ns,
            mult: slope(self.first, moment)?,
        })
    }

    /// A line that begins where the present one is and meets the true time after the longest pause.
    /// If it were to do so sooner, and the next look came late on a busy machine, it would be far
    /// beyond by then.
    fn next(&self, now: Calibration, moment: Pair) -> Option<Calibration> {
        let shown = now.ns_at(moment.ticks)?;
        let behind = moment.ns.wrapping_sub(shown).cast_signed();
        if behind.abs() > WORST_NS {
            return None;
        }
        let mult = slope(self.first, moment)?;
        let correction = i128::from(mult) * i128::from(behind) / LONGEST.as_nanos() as i128;
        Some(Calibration {
            ticks: moment.ticks,
            ns: shown,
            mult: u64::try_from(i128::from(mult) + correction).ok()?,
        })
    }
}

/// Nanoseconds a tick, times 2^64; nothing for a counter that is slower than that.
fn slope(from: Pair, to: Pair) -> Option<u64> {
    let ticks = u128::from(to.ticks.checked_sub(from.ticks)?);
    let ns = u128::from(to.ns.checked_sub(from.ns)?);
    u64::try_from((ns << 64).checked_div(ticks)?).ok()
}

/// The tightest of a few readings of the time between two of the counter. The one before counts:
/// a line through it is never behind the kernel's clock, so that for a probe which changes over to
/// it time does not go back.
fn measure() -> Pair {
    let reading = |_| {
        let before = clock::ticks();
        let at = Instant::now();
        let after = clock::ticks();
        Pair {
            ticks: before,
            ns: ns_of(at),
            width: after.wrapping_sub(before),
        }
    };
    let tightest = (0..8).map(reading).min_by_key(|pair| pair.width);
    tightest.expect("there are eight readings")
}

/// CLOCK_MONOTONIC at this instant, which is read quickly in builds without optimisation, too. Never
/// behind that clock, and ahead of it by as long as it took to read both once.
fn ns_of(at: Instant) -> u64 {
    static BOTH: OnceLock<(Instant, u64)> = OnceLock::new();
    let (instant, ns) = BOTH.get_or_init(|| {
        let reading = |_| {
            let before = Instant::now();
            let ns = monotonic_ns();
            (before.elapsed(), (before, ns))
        };
        let tightest = (0..8).map(reading).min_by_key(|(width, _)| *width);
        tightest.expect("there are eight readings").1
    });
    // The first instant of all may be earlier than both were read.
    match at.checked_duration_since(*instant) {
        Some(since) => ns + since.as_nanos() as u64,
        None => ns - instant.duration_since(at).as_nanos() as u64,
    }
}

/// The kernel keeps time with it.
fn is_source() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
}

/// It runs on at one rate whatever the processors do. Asked of the first one.
fn is_invariant() -> bool {
    let text = system::first_processor();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.contains(" constant_tsc") && line.contains(" nonstop_tsc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64, ns: u64) -> Pair {
        Pair {
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
        line.ns_at(ticks).expect("it is not before the line")
    }

    fn calibrator() -> Calibrator {
        Calibrator {
            first: at(0, 0),
            now: Some(NOW),
            looked: Instant::now(),
            pause: LONGEST,
        }
    }

    // CTP-26
    #[test]
    fn a_corrected_line_begins_where_the_old_one_is_and_meets_the_true_time() {
        let calibrator = calibrator();
        // After a second by the counter, the kernel's clock says 10 us more.
        let moment = at(2_000_002_000, 1_000_011_000);
        let next = calibrator
            .next(NOW, moment)
            .expect("10 us are no reason to distrust it");
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
    fn a_look_that_comes_late_finds_a_line_that_is_right_all_the_same() {
        let mut calibrator = calibrator();
        (calibrator.first, calibrator.pause) = (at(0, 50_000), SOON);
        let moment = at(40_002_000, 20_051_000);
        let next = calibrator.next(NOW, moment).expect("50 us are few");
        let late = at(moment.ticks + 10_000_000_000, moment.ns + 5_000_000_000);
        assert!(shown(&next, late.ticks).abs_diff(late.ns) < WORST_NS as u64);
    }

    // CTP-26
    #[test]
    fn a_first_line_is_as_long_as_its_ends_are_vague() {
        let calibrator = calibrator();
        assert!(!calibrator.is_precise(at(1_999_999, 0)));
        assert!(calibrator.is_precise(at(2_000_000, 0)));
    }

    // CTP-26
    #[test]
    fn before_its_own_moment_a_line_says_nothing() {
        assert_eq!((NOW.ns_at(1_999), NOW.ns_at(2_000)), (None, Some(1_000)));
        assert_eq!(calibrator().next(NOW, at(7, 2_000)), None, "it began anew");
    }

    // CTP-26
    #[test]
    fn a_counter_that_is_off_by_a_millisecond_is_withdrawn() {
        assert_eq!(
            calibrator().next(NOW, at(2_000_002_000, 1_002_000_000)),
            None
        );
        assert_eq!(calibrator().next(NOW, at(2_000_002_000, 998_000_000)), None);
    }
}
