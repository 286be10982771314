//! Durations as users type them.

use std::fmt;
use std::time::Duration;

use ctp_trace::BadDuration;
use ctp_trace::record::Nanos;

/// Why a text is not a valid duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDuration {
    /// Not a duration.
    Bad(BadDuration),
    /// Zero.
    Zero,
}

impl fmt::Display for NoDuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDuration::Bad(why) => write!(out, "{why}"),
            NoDuration::Zero => write!(out, "must be longer than 0"),
        }
    }
}

impl std::error::Error for NoDuration {}

/// Parses durations such as `500us` or `1.5s`, as `ctp-report` does; rejects zero.
///
/// # Errors
/// Any other text.
pub fn parse(text: &str) -> Result<Duration, NoDuration> {
    match text.parse().map_err(NoDuration::Bad)? {
        Nanos(0) => Err(NoDuration::Zero),
        Nanos(ns) => Ok(Duration::from_nanos(ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_durations_are_rejected() {
        assert_eq!(parse("500us"), Ok(Duration::from_micros(500)));
        assert_eq!(parse("0.25min"), Ok(Duration::from_secs(15)));
        assert!(
            ["0s", "0.0h"]
                .iter()
                .all(|text| parse(text) == Err(NoDuration::Zero))
        );
        assert!(matches!(parse("soon"), Err(NoDuration::Bad(_))));
    }
}
