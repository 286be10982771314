//! Formats numbers with units.

use ctp_trace::record::Nanos;
use jiff::Timestamp;

pub use ctp_trace::quantity::{counted, counted_as, grouped};

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats a size as `15.0 GiB`.
pub fn size(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    let value = to_f64(bytes);
    // From 1023.95 on, a value is printed as 1024.0, and so in the next unit as 1.0.
    let is_below = |unit: f64| value / unit < 1023.95;
    if bytes < 1024 {
        format!("{bytes} bytes")
    } else if is_below(KIB) {
        format!("{:.1} KiB", value / KIB)
    } else if is_below(KIB * KIB) {
        format!("{:.1} MiB", value / (KIB * KIB))
    } else {
        format!("{:.1} GiB", value / (KIB * KIB * KIB))
    }
}

/// Formats a duration with about three digits, as `1.9 ms`.
pub fn duration(span: Nanos) -> String {
    let (scale, unit) = unit_of(span);
    let value = to_f64(span.0) / scale;
    let decimals = usize::from(value < 99.95 && scale > 1.0);
    format!("{value:.decimals$} {unit}")
}

/// Like [`duration`], for a number of nanoseconds.
pub fn duration_ns(ns: u64) -> String {
    duration(Nanos(ns))
}

/// Formats two durations as `11.78 .. 11.88 s` or `3.0 ms .. 12.0 s`, or as a single duration if both look the same.
pub fn range(least: Nanos, most: Nanos) -> String {
    let whole = [least, most].map(duration);
    if whole[0] == whole[1] {
        return duration(most);
    }
    let (scale, unit) = unit_of(most);
    if unit_of(least).1 != unit || scale <= 1.0 {
        return whole.join(" .. ");
    }
    let [least, most] = [least, most].map(|nanos| format!("{:.2}", to_f64(nanos.0) / scale));
    if least == most {
        format!("{most} {unit}")
    } else {
        format!("{least} .. {most} {unit}")
    }
}

/// Formats a time since the start of the recording as `+0.614021 s`, rounded down to microseconds.
pub fn moment(at: Nanos) -> String {
    format!(
        "+{}.{:06} s",
        at.0 / 1_000_000_000,
        at.0 % 1_000_000_000 / 1000
    )
}

/// Like [`moment`], for a number of nanoseconds.
pub fn moment_ns(ns: u64) -> String {
    moment(Nanos(ns))
}

/// A part of a whole in percent, or zero if the whole is zero.
pub fn percent(part: Nanos, whole: Nanos) -> f64 {
    if whole.0 == 0 {
        0.0
    } else {
        100.0 * to_f64(part.0) / to_f64(whole.0)
    }
}

/// Formats a date and time of day in UTC, to the minute.
pub fn date(unix_ns: u64) -> String {
    utc(unix_ns).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Formats a time in UTC as ISO 8601 with nanoseconds.
pub fn timestamp(unix_ns: u64) -> String {
    utc(unix_ns).strftime("%Y-%m-%dT%H:%M:%S.%9fZ").to_string()
}

fn utc(unix_ns: u64) -> Timestamp {
    let at = Timestamp::from_nanosecond(unix_ns.into());
    at.expect("64 bits of nanoseconds end in the year 2554")
}

/// The length of a unit in nanoseconds, and its name. Seconds are used up to 10 min, and minutes up to 2 h. A limit lies
/// where the value would be rounded up to 1000.
fn unit_of(span: Nanos) -> (f64, &'static str) {
    match span.0 {
        0..1_000 => (1.0, "ns"),
        1_000..999_500 => (1e3, "us"),
        999_500..999_500_000 => (1e6, "ms"),
        999_500_000..600_000_000_000 => (1e9, "s"),
        600_000_000_000..7_200_000_000_000 => (60e9, "min"),
        _ => (3600e9, "h"),
    }
}

/// A number for a figure that is rounded for people.
#[expect(
    clippy::cast_precision_loss,
    reason = "the figures are rounded for people"
)]
pub fn to_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(size(15 << 30), "15.0 GiB");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size((1 << 20) - 60), "1023.9 KiB");
        assert_eq!(size((1 << 20) - 1), "1.0 MiB");
        assert_eq!(size((1 << 30) - 1), "1.0 GiB");
    }

    #[test]
    fn durations_have_three_digits() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_900, "1.9 us"),
            (999_499, "999 us"),
            (1_900_000, "1.9 ms"),
            (99_960_000, "100 ms"),
            (11_780_000_000, "11.8 s"),
            (u64::MAX, "5124096 h"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(Nanos(ns)), text);
        }
        assert_eq!(
            range(Nanos(11_780_000_000), Nanos(11_880_000_000)),
            "11.78 .. 11.88 s"
        );
        assert_eq!(range(Nanos(5), Nanos(5)), "5 ns");
        assert_eq!(range(Nanos(5), Nanos(7)), "5 ns .. 7 ns");
        let (ms, s) = (1_000_000, 1_000_000_000);
        assert_eq!(range(Nanos(3 * ms), Nanos(12 * s)), "3.0 ms .. 12.0 s");
        assert_eq!(range(Nanos(30 * s), Nanos(7_200 * s)), "30.0 s .. 2.0 h");
        assert_eq!(range(Nanos(5_049_000_000), Nanos(5_051_000_000)), "5.05 s");
    }

    #[test]
    fn shares_and_moments() {
        assert_eq!(moment(Nanos(614_021_999)), "+0.614021 s");
        assert!((percent(Nanos(1), Nanos(0))).abs() < f64::EPSILON);
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399_000_000_000), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_600_000_000_000), "2026-01-01 00:00 UTC");
        assert_eq!(date(u64::MAX), "2554-07-21 23:34 UTC");
        assert_eq!(
            timestamp(1_767_225_600_000_000_007),
            "2026-01-01T00:00:00.000000007Z"
        );
    }
}
