//! Parses durations such as `500us` or `1.5s`.

use core::fmt;
use core::str::FromStr;

use crate::escape::escaped;
use crate::record::Nanos;

/// The units, each with its nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The maximum number of digits after the point, without trailing zeros. With more digits, the duration
/// is no whole number of nanoseconds in any unit.
const MAX_DIGITS: usize = 18;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadDuration {
    /// The text is not a number and a unit.
    Syntax(String),
    /// The duration is at least 2^64 nanoseconds, about 584 years.
    TooLong(String),
    /// The duration is no whole number of nanoseconds.
    TooFine(String),
}

impl fmt::Display for BadDuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, why) = match self {
            BadDuration::Syntax(text) => (
                text,
                "is not a number and a unit (ns, us, ms, s, min, h), like 500us or 1.5s",
            ),
            BadDuration::TooLong(text) => (text, "is longer than 584 years"),
            BadDuration::TooFine(text) => (text, "has a part of a nanosecond"),
        };
        write!(out, "`{}` {why}", escaped(text))
    }
}

impl core::error::Error for BadDuration {}

/// Digits, optionally a point and more digits, an optional space, and a unit: `500us`, `1.5 s`.
impl FromStr for Nanos {
    type Err = BadDuration;

    fn from_str(text: &str) -> Result<Self, BadDuration> {
        let because = |why: fn(String) -> BadDuration| move || why(text.to_owned());
        let (whole, fraction, unit_ns) = parts(text).ok_or_else(because(BadDuration::Syntax))?;
        let part_ns = part_of(unit_ns, fraction).ok_or_else(because(BadDuration::TooFine))?;
        let whole = whole.parse::<u64>().ok();
        let whole_ns = whole.and_then(|whole| whole.checked_mul(unit_ns));
        let ns = whole_ns.and_then(|whole_ns| whole_ns.checked_add(part_ns));
        ns.map(Nanos).ok_or_else(because(BadDuration::TooLong))
    }
}

/// The digits before the point, those after it (`0` if there is no point), and the unit.
fn parts(text: &str) -> Option<(&str, &str, u64)> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let (_, unit_ns) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number = number.trim_end_matches(' ');
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (are_digits(whole) && are_digits(fraction)).then_some((whole, fraction, *unit_ns))
}

/// The value of the digits after the point in nanoseconds, if that is a whole number.
fn part_of(unit_ns: u64, fraction: &str) -> Option<u64> {
    let digits = fraction.trim_end_matches('0');
    let share: u64 = match digits.len() {
        0 => 0,
        1..=MAX_DIGITS => digits.parse().ok()?,
        _ => return None,
    };
    let scale = 10u64.pow(digits.len() as u32);
    let ns = u128::from(unit_ns) * u128::from(share);
    let is_whole = ns % u128::from(scale) == 0;
    is_whole.then(|| u64::try_from(ns / u128::from(scale)).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<u64, BadDuration> {
        text.parse().map(|Nanos(ns)| ns)
    }

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        for (text, ns) in [
            ("7ns", 7),
            ("500us", 500_000),
            ("500ms", 500_000_000),
            ("2s", 2_000_000_000),
            ("1.5 s", 1_500_000_000),
            ("0.25min", 15_000_000_000),
            ("1h", 3_600_000_000_000),
            ("0s", 0),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(ns), "{text}");
        }
        for text in [
            "", "s", "30", "-1s", "+1s", "1.s", ".5s", "1..2s", "1e3s", "1d", "5m", "1 parsec",
            " 1s", "1\u{b5}s",
        ] {
            assert_eq!(
                parse(text),
                Err(BadDuration::Syntax(text.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn fractions_are_exact_or_refused() {
        assert_eq!(parse("0.000000001s"), Ok(1));
        assert_eq!(parse("0.0000000000025h"), Ok(9));
        assert_eq!(parse("4.10000000000000000000000s"), Ok(4_100_000_000));
        for text in [
            "1.5ns",
            "0.0000000001s",
            "0.0000000000001h",
            "0.3333333333333333333333s",
        ] {
            assert_eq!(
                parse(text),
                Err(BadDuration::TooFine(text.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn too_long_durations_are_refused() {
        for text in [
            "18446744073709551616ns",
            "18446744073709551.616us",
            "99999999999h",
            "99999999999999999999999s",
        ] {
            assert_eq!(
                parse(text),
                Err(BadDuration::TooLong(text.to_owned())),
                "{text}"
            );
        }
    }
}
