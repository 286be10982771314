//! Durations as users type them.

use std::fmt;
use std::time::Duration;

/// A text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDuration;

impl fmt::Display for NoDuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a duration; try 500ms, 1.5s, 5min or 1h")
    }
}

impl std::error::Error for NoDuration {}

/// Units, in nanoseconds.
const UNITS: [(&str, u64); 4] = [
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Digits after the point that are told from zero.
const DIGITS: usize = 9;

/// A number, with a fraction or without, and a unit; never zero.
///
/// # Errors
/// Something else, or more than 500 years.
pub fn parse(text: &str) -> Result<Duration, NoDuration> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let unit_ns = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, unit_ns) = unit_ns.ok_or(NoDuration)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole_ns = digits(whole)?.checked_mul(*unit_ns).ok_or(NoDuration)?;
    let ns = whole_ns.checked_add(part_of(*unit_ns, fraction)?);
    let ns = ns.filter(|ns| *ns > 0).ok_or(NoDuration)?;
    Ok(Duration::from_nanos(ns))
}

fn digits(text: &str) -> Result<u64, NoDuration> {
    let is_number = text.chars().all(|c| c.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.ok_or(NoDuration)
}

/// What the digits after the point come to.
fn part_of(unit_ns: u64, fraction: &str) -> Result<u64, NoDuration> {
    if fraction.len() > DIGITS {
        return Err(NoDuration);
    }
    let share = u128::from(digits(fraction)?) * u128::from(unit_ns);
    Ok((share / 10u128.pow(fraction.len() as u32)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("1.5s", 1_500),
            ("0.25min", 15_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "s",
            "30",
            "0s",
            "0.0s",
            "-1s",
            "+1s",
            "3 s",
            "1d",
            "1.s",
            ".5s",
            "1..5s",
            "1e3s",
            "99999999999h",
            "0.0000000001h",
        ] {
            assert_eq!(parse(text), Err(NoDuration), "{text}");
        }
    }
}
