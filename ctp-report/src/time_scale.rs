//! Maps times to positions on a time axis, and chooses its tick marks.

use ctp_trace::record::Nanos;

/// Length of the time axis, fine enough for a 1000-fold zoom.
pub const UNITS: u64 = 1_000_000;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Steps between ticks in nanoseconds, from a minute on, where powers of ten are not round.
const LONG_STEPS: [u64; 11] = [
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
];

/// The longest span that is shown, in nanoseconds. Rows double the length of their pieces until the
/// pieces have room, and twice this span still fits into a `u64`.
const MAX_TIME: u64 = u64::MAX / 2;

/// The time span that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Start of the span.
    pub from: Nanos,
    /// End of the span, later than the start.
    pub to: Nanos,
}

/// A tick on the time axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Position on the axis, from 0 to [`UNITS`].
    pub x: u64,
    /// Label.
    pub label: String,
}

impl Scale {
    /// Creates a span of at least a nanosecond. Spans longer than any recording are truncated.
    pub fn new(from: Nanos, to: Nanos) -> Self {
        let (least, most) = (from.0.saturating_add(1), from.0.saturating_add(MAX_TIME));
        let to = Nanos(to.0.clamp(least, most));
        Scale { from, to }
    }

    /// The length in nanoseconds.
    pub fn length(&self) -> u64 {
        self.from.until(self.to).0.max(1)
    }

    /// The position of a time. Times outside the span are at the nearer end.
    pub fn x(&self, at: Nanos) -> u64 {
        let offset = u128::from(self.from.until(at).0.min(self.length()));
        let x = offset * u128::from(UNITS) / u128::from(self.length());
        u64::try_from(x).unwrap_or(UNITS)
    }

    /// Whether a time is in the span.
    pub fn has(&self, at: Nanos) -> bool {
        self.from <= at && at <= self.to
    }

    /// The part of a time range that is in the span, if any.
    pub fn clip(&self, from: Nanos, to: Nanos) -> Option<(Nanos, Nanos)> {
        let (from, to) = (from.max(self.from), to.min(self.to));
        (from < to).then_some((from, to))
    }

    /// Ticks at round times: at most `most`, and at least two if possible.
    pub fn ticks(&self, most: u64) -> Vec<Tick> {
        let step = step(self.length() / most.max(1));
        let first = self.from.0.div_ceil(step);
        let last = self.to.0 / step;
        (first..=last)
            .map(|i| i * step)
            .map(|at| Tick {
                x: self.x(Nanos(at)),
                label: label(at, step, self.to.0),
            })
            .collect()
    }
}

/// The smallest round step that is larger than `least`.
fn step(least: u64) -> u64 {
    let mut power = 1;
    while power < 100 * SECOND {
        for step in [power, 2 * power, 5 * power] {
            if least < step && step < MINUTE {
                return step;
            }
        }
        power *= 10;
    }
    let long = LONG_STEPS.into_iter().find(|step| least < *step);
    long.unwrap_or_else(|| least.div_ceil(24 * HOUR).saturating_mul(24 * HOUR))
}

/// Formats a time with the precision of the step.
fn label(at: u64, step: u64, to: u64) -> String {
    if MINUTE <= step {
        return if at.is_multiple_of(HOUR) && 3 * HOUR <= to {
            format!("{} h", at / HOUR)
        } else {
            format!("{} min", at / MINUTE)
        };
    }
    let (unit, name) = match to {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..SECOND => (1_000_000, "ms"),
        _ => (SECOND, "s"),
    };
    let mut decimals = 0;
    while unit / 10u64.pow(decimals) > step && unit / 10u64.pow(decimals) > 1 {
        decimals += 1;
    }
    let part = at % unit / (unit / 10u64.pow(decimals));
    match decimals {
        0 => format!("{} {name}", at / unit),
        _ => format!(
            "{}.{part:0width$} {name}",
            at / unit,
            width = decimals as usize
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: u64, to: u64, most: u64) -> Vec<String> {
        let scale = Scale::new(Nanos(from), Nanos(to));
        scale
            .ticks(most)
            .into_iter()
            .map(|tick| tick.label)
            .collect()
    }

    // CT-19
    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(
            labels(0, 10 * SECOND, 6),
            ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]
        );
        assert_eq!(labels(0, 900, 3), ["0 ns", "500 ns"]);
        assert_eq!(
            labels(1_200_000_000, 1_290_000_000, 4),
            ["1.20 s", "1.25 s"]
        );
        assert_eq!(labels(0, 4 * HOUR, 5), ["0 h", "1 h", "2 h", "3 h", "4 h"]);
        assert_eq!(
            labels(0, 20 * MINUTE, 5),
            ["0 min", "5 min", "10 min", "15 min", "20 min"]
        );
        for to in [
            1,
            7,
            1_001,
            999_999,
            12_400_000_000,
            59 * SECOND,
            90 * SECOND,
            u64::MAX,
        ] {
            let count = labels(0, to, 8).len();
            assert!((1..=9).contains(&count), "{to}: {count}");
        }
    }

    // CT-19
    #[test]
    fn times_outside_are_at_the_ends() {
        let scale = Scale::new(Nanos(100), Nanos(200));
        assert_eq!(scale.x(Nanos(0)), 0);
        assert_eq!(scale.x(Nanos(150)), UNITS / 2);
        assert_eq!(scale.x(Nanos(u64::MAX)), UNITS);
        assert_eq!(
            scale.clip(Nanos(0), Nanos(150)),
            Some((Nanos(100), Nanos(150)))
        );
        assert_eq!(scale.clip(Nanos(0), Nanos(100)), None);
        assert_eq!(Scale::new(Nanos(5), Nanos(5)).length(), 1);
    }
}
