//! Parsers of option values.

use std::ops::RangeInclusive;

use ctp_trace::BadDuration;
use ctp_trace::record::Nanos;

/// Parses a percentage.
///
/// # Errors
/// If the text is not a number from 0 to 100.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|value| (0.0..=100.0).contains(value));
    number.ok_or_else(|| "write a number from 0 to 100".to_owned())
}

/// Parses a time between two refreshes.
///
/// # Errors
/// If the text is not a duration of at least 10 ms.
pub fn parse_interval(text: &str) -> Result<Nanos, String> {
    let interval: Nanos = text.parse().map_err(|why: BadDuration| why.to_string())?;
    let is_long = Nanos(10_000_000) <= interval;
    is_long
        .then_some(interval)
        .ok_or_else(|| "must be at least 10ms".to_owned())
}

/// Parses a number of columns.
///
/// # Errors
/// If the text is not a number of at least 1.
pub fn parse_columns(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|columns| 0 < *columns);
    number.ok_or_else(|| "write a number of columns, like 100".to_owned())
}

/// Parses a time span, as `1s,5s`, `1s,` or `,5s`. Without a second value, the span has no end.
///
/// # Errors
/// If the text has another form, or the span is empty.
pub fn parse_window(text: &str) -> Result<(Nanos, Option<Nanos>), String> {
    let (from, to) = text
        .split_once(',')
        .ok_or("write two times separated by a comma, like 1s,5s or 500ms,")?;
    let from = parse_moment(from)?.unwrap_or_default();
    match parse_moment(to)? {
        Some(to) if to <= from => Err("the second time must be later than the first".to_owned()),
        to => Ok((from, to)),
    }
}

fn parse_moment(text: &str) -> Result<Option<Nanos>, String> {
    let text = Some(text.trim()).filter(|text| !text.is_empty());
    let moment = text.map(str::parse).transpose();
    moment.map_err(|why: BadDuration| why.to_string())
}

/// Parses an id, or a range of ids such as `5-9`.
///
/// # Errors
/// If the text has another form, or the range is empty.
pub fn parse_ids(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ids = first.trim().parse().ok().zip(last.trim().parse().ok());
    let ids = ids.map(|(first, last): (u32, u32)| first..=last);
    ids.filter(|ids| !ids.is_empty())
        .ok_or_else(|| "write ids like 5 or 5-9, separated by commas".to_owned())
}

/// Parses a number of bytes, with K, M, G or T for powers of 1024.
///
/// # Errors
/// If the text has another form, or is zero.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[number.len()..].to_ascii_uppercase().as_str() {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let bytes = shift.and_then(|shift| number.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "write a number of bytes, like 512M or 2G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-19
    #[test]
    fn time_spans_are_parsed() {
        let (time, five) = (Nanos(1_000_000_000), Nanos(5_000_000_000));
        assert_eq!(parse_window("1s,5s"), Ok((time, Some(five))));
        assert_eq!(parse_window("1s,"), Ok((time, None)));
        assert_eq!(parse_window(" , 5s"), Ok((Nanos(0), Some(five))));
        for text in ["", "1s", "5s,1s", "1s,1s", "a,b"] {
            assert!(parse_window(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ids_are_parsed() {
        assert_eq!(parse_ids("5"), Ok(5..=5));
        assert_eq!(parse_ids("5-9"), Ok(5..=9));
        for text in ["", "-", "9-5", "a", "5-", "1,2"] {
            assert!(parse_ids(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("1k"), Ok(1024));
        for text in ["", "0", "G", "1X", "-1", "1.5G", "99999999999T"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
