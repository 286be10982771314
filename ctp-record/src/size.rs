//! Sizes as users type them.

use std::fmt;

/// Why a text is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSize {
    /// Not a number with an optional K, M or G.
    Syntax,
    /// More than a lane can have.
    TooLarge,
}

impl fmt::Display for NoSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSize::Syntax => write!(out, "not a size; try 4M, 512K or 0"),
            NoSize::TooLarge => write!(out, "more than 256M"),
        }
    }
}

impl std::error::Error for NoSize {}

/// The largest room for one thread.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes: a number, with K, M or G for powers of 1024.
///
/// # Errors
/// Something else, or more than a lane can have.
pub fn parse(text: &str) -> Result<u64, NoSize> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'k', 'm', 'g']);
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(NoSize::Syntax),
    };
    let number: u64 = digits.parse().map_err(|_| NoSize::Syntax)?;
    let bytes = number.checked_mul(1 << shift);
    bytes
        .filter(|bytes| *bytes <= MOST_BYTES)
        .ok_or(NoSize::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_a_power_of_1024() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("4M"), Ok(4 << 20));
        assert_eq!(parse("512k"), Ok(512 << 10));
        assert_eq!(parse("256M"), Ok(256 << 20));
        assert_eq!(parse("1G"), Err(NoSize::TooLarge));
        for text in ["", "M", "4MM", "-1", "4 M", "4T", "0x10"] {
            assert_eq!(parse(text), Err(NoSize::Syntax), "{text}");
        }
    }
}
