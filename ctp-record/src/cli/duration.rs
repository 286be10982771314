//! Durations as users type them.

use std::fmt;
use std::time::Duration;

use ctp_trace::BadDuration;
use ctp_trace::record::Nanos;

/// Why a text is no duration that one could wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDuration {
    /// It is none at all.
    Bad(BadDuration),
    /// Nothing lasts no time.
    Zero,
}

impl fmt::Display for NoDuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDuration::Bad(why) => write!(out, "{why}"),
            NoDuration::Zero => write!(out, "it must be longer than 0"),
        }
    }
}

impl std::error::Error for NoDuration {}

/// What `ctp-report` reads as a duration too; never zero.
///
/// # Errors
/// Something else.
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
    fn a_duration_is_longer_than_nothing() {
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
